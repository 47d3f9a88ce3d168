/** The table of a SELECT: which answers need one, and what stands in its cells. */
import type { Answered, Selected } from './api/types'

interface Cell {
  value: string | null
  low: string | null
  high: string | null
}

const text = (value: unknown): string | null => (typeof value === 'string' || typeof value === 'number' ? String(value) : null)

/** A noisy cell as texts; one that divides by zero has no value. */
export function cell(value: unknown): Cell {
  const { value: middle, low, high } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  return { value: text(middle), low: text(low), high: text(high) }
}

/** The table, where ORDER BY, HAVING, LIMIT, arithmetic or a second aggregate make it say more than the one answer under it. */
export function laidOut(found: Answered): Selected | null {
  const { table, answers } = found
  if (!table) return null
  const whole = table.places.length === answers[0]?.rows.length && table.places.every((place, index) => place === index)
  const plain = table.columns.every((column) => column.formula == null)
  return whole && plain && answers.length === 1 && table.columns.filter((column) => column.key === null).length === 1 ? null : table
}
