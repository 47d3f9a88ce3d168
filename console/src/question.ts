/** One question in two dresses: a form, and SQL. The server reads the SQL; its canonical form fills the form again. */
import type { Question } from './api/types'

export type Measure = 'count' | 'persons' | 'sum' | 'mean' | 'median' | 'quantile' | 'variance' | 'std' | 'ranges'

export interface Form {
  measure: Measure
  column: string
  q: string
  groups: string[]
  where: string
}

export const MEASURES: { id: Measure; label: string; needsColumn: boolean }[] = [
  { id: 'count', label: 'the number of rows', needsColumn: false },
  { id: 'persons', label: 'the number of persons', needsColumn: false },
  { id: 'sum', label: 'the sum of a column', needsColumn: true },
  { id: 'mean', label: 'the mean of a column', needsColumn: true },
  { id: 'median', label: 'the median of a column', needsColumn: true },
  { id: 'quantile', label: 'a quantile of a column', needsColumn: true },
  { id: 'variance', label: 'the variance of a column', needsColumn: true },
  { id: 'std', label: 'the standard deviation of a column', needsColumn: true },
  { id: 'ranges', label: 'the distribution of a column', needsColumn: true },
]

export const EMPTY: Form = { measure: 'count', column: '', q: '0.9', groups: [], where: '' }

export const needsColumn = (measure: Measure): boolean => MEASURES.some((one) => one.id === measure && one.needsColumn)

/** A name as SQL reads it. */
export function named(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED.has(name.toUpperCase()) ? name : `"${name.replaceAll('"', '""')}"`
}

const RESERVED = new Set(['SELECT', 'FROM', 'WHERE', 'GROUP', 'BY', 'ORDER', 'LIMIT', 'AND', 'OR', 'NOT', 'IN', 'BETWEEN', 'IS', 'NULL', 'AS', 'HAVING', 'JOIN', 'USER', 'TABLE', 'END', 'CASE', 'WHEN', 'THEN', 'ELSE'])

export function constant(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE'
  if (typeof value === 'number') return String(value)
  return `'${String(value).replaceAll("'", "''")}'`
}

function aggregate(form: Form, unit: string | null): string | null {
  const column = named(form.column)
  switch (form.measure) {
    case 'count':
      return 'COUNT(*)'
    case 'persons':
      return unit ? `COUNT(DISTINCT ${named(unit)})` : null
    case 'sum':
      return `SUM(${column})`
    case 'mean':
      return `AVG(${column})`
    case 'median':
      return `MEDIAN(${column})`
    case 'quantile':
      return `PERCENTILE_CONT(${form.q}) WITHIN GROUP (ORDER BY ${column})`
    case 'variance':
      return `VAR_POP(${column})`
    case 'std':
      return `STDDEV_POP(${column})`
    case 'ranges':
      return null
  }
}

/** The question as SQL; null where this SQL cannot express it. */
export function toSql(form: Form, table: string, unit: string | null): string | null {
  const what = aggregate(form, unit)
  if (what === null || (needsColumn(form.measure) && !form.column)) return null
  const groups = form.groups.map(named).join(', ')
  const lines = [`SELECT ${groups && groups + ', '}${what}`, `FROM ${named(table)}`]
  if (form.where.trim()) lines.push(`WHERE ${form.where.trim()}`)
  if (groups) lines.push(`GROUP BY ${groups}`)
  return lines.join('\n')
}

/** The question as JSON, for what SQL cannot express. */
export function toQuestion(form: Form): Question {
  const where = form.where.trim() ? { where: form.where.trim() } : {}
  const by = form.groups.length ? { by: form.groups } : {}
  switch (form.measure) {
    case 'count':
      return form.groups.length ? { ask: 'histogram', columns: form.groups, ...where } : { ask: 'count', ...where }
    case 'persons':
      return { ask: 'count_distinct', ...(form.groups.length && { columns: form.groups }), ...where }
    case 'quantile':
      return { ask: 'quantiles', column: form.column, qs: [form.q], kind: 'cont', ...by, ...where }
    default:
      return { ask: form.measure, column: form.column, ...by, ...where }
  }
}

type Canonical = Record<string, unknown>

/** Fills the form from the canonical question; null where the form has no words for it. */
export function fromCanonical(question: Canonical): Form | null {
  const measure = (question['measure'] ?? {}) as Canonical
  const axes = ((question['axes'] ?? []) as Canonical[]).slice()
  const where = question['where'] ? condition(question['where'] as Canonical) : ''
  if (where === null) return null
  const [kind] = Object.keys(measure)
  const found: Form = { ...EMPTY, groups: [], where }
  const lattice = (kind ? measure[kind] : null) as Canonical | null
  const column = Array.isArray(lattice?.['column']) ? String(lattice['column'][0]) : ''
  if (kind === 'count') found.measure = measure['count'] === 'persons' ? 'persons' : 'count'
  else if (kind === 'sum' || kind === 'mean') [found.measure, found.column] = [kind, column]
  else if (kind === 'variance' && measure['sample'] !== true) [found.measure, found.column] = [measure['root'] ? 'std' : 'variance', column]
  else if (kind === 'quantiles' && Array.isArray(lattice?.['qs']) && lattice['qs'].length === 1 && lattice['between'] === 'cont') {
    const q = String(lattice['qs'][0])
    found.measure = q === '1/2' ? 'median' : 'quantile'
    found.q = decimal(q)
    found.column = axisName(axes.pop())
  } else if (kind === 'ranges') [found.measure, found.column] = ['ranges', axisName(axes.pop())]
  else return null
  if (axes.length > 2 || axes.some((axis) => !('keys' in axis))) return null
  found.groups = axes.map(axisName)
  return found
}

function axisName(axis: Canonical | undefined): string {
  const column = axis?.['column']
  return Array.isArray(column) ? String(column[0]) : ''
}

function decimal(text: string): string {
  const [top, bottom] = text.split('/')
  return bottom ? String(Number(top) / Number(bottom)) : text
}

/** A canonical condition as SQL. */
export function condition(part: Canonical, inside = false): string | null {
  for (const [word, joint] of [['all', ' AND '], ['any', ' OR ']] as const) {
    if (Array.isArray(part[word])) {
      const parts = (part[word] as Canonical[]).map((one) => condition(one, true))
      if (parts.includes(null)) return null
      const text = parts.join(joint)
      return inside && parts.length > 1 ? `(${text})` : text
    }
  }
  if (!Array.isArray(part['column'])) return null
  const name = named(String(part['column'][0]))
  const operator = String(part['compare']).toUpperCase()
  if (operator.startsWith('IS')) return `${name} ${operator}`
  if (Array.isArray(part['value'])) return `${name} ${operator} (${part['value'].map(constant).join(', ')})`
  return `${name} ${operator} ${constant(part['value'])}`
}

export interface Suggestion {
  from: number
  options: string[]
}

const WORDS = ['SELECT', 'COUNT(*)', 'SUM(', 'AVG(', 'MEDIAN(', 'FROM', 'WHERE', 'AND', 'OR', 'GROUP BY', 'ORDER BY', 'LIMIT']

/** What may stand at the caret: a column, a declared value of the column before it, or a word of SQL. */
export function complete(text: string, caret: number, columns: { name: string; values: unknown[] | null }[], words = true): Suggestion {
  const before = text.slice(0, caret)
  const value = /([A-Za-z_][A-Za-z0-9_]*|"[^"]+")\s*(?:=|<>|IN\s*\((?:[^()]*,)?)\s*('?[^',)]*)$/i.exec(before)
  if (value) {
    const column = columns.find((one) => named(one.name).toLowerCase() === (value[1] ?? '').toLowerCase())
    if (column?.values) {
      const begun = (value[2] ?? '').trimStart()
      const typed = begun.replace(/^'/, '').toLowerCase()
      const options = column.values.map(constant).filter((one) => one.replace(/^'/, '').toLowerCase().startsWith(typed))
      return { from: caret - begun.length, options: options.filter((one) => one !== begun).slice(0, 8) }
    }
  }
  const begun = /[A-Za-z_][A-Za-z0-9_]*$/.exec(before)?.[0] ?? ''
  if (!begun) return { from: caret, options: [] }
  const all = [...columns.map((one) => named(one.name)), ...(words ? WORDS : [])]
  const options = all.filter((one) => one.toLowerCase().startsWith(begun.toLowerCase()) && one.toLowerCase() !== begun.toLowerCase())
  return { from: caret - begun.length, options: options.slice(0, 8) }
}

/** The question in a few words, for a headline. */
export function headline(question: Canonical): string | null {
  const form = fromCanonical(question)
  if (!form) return null
  const what = {
    count: 'Rows',
    persons: 'Persons',
    sum: `Sum of ${form.column}`,
    mean: `Mean of ${form.column}`,
    median: `Median of ${form.column}`,
    quantile: `${form.q} quantile of ${form.column}`,
    variance: `Variance of ${form.column}`,
    std: `Standard deviation of ${form.column}`,
    ranges: `Distribution of ${form.column}`,
  }[form.measure]
  return what + (form.groups.length ? ` by ${form.groups.join(' and ')}` : '') + (form.where ? ` where ${form.where}` : '')
}

/** The same question in Python; at the same price it is the stored answer, free. */
export function python(question: Canonical, unit: string | null, epsilon: string): string {
  const form = fromCanonical(question)
  const price = `spend=dv.Budget.pure(${JSON.stringify(epsilon)})`
  if (form?.measure === 'ranges') return `print(session.ranges(${JSON.stringify(form.column)}, ${form.where ? `where=${JSON.stringify(form.where)}, ` : ''}${price}))`
  const sql = form && toSql(form, 'data', unit)
  return sql ? `print(session.sql(${JSON.stringify(sql.replaceAll('\n', ' '))}, ${price}))` : 'print(session.remaining)'
}
