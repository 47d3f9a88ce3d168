import { describe, expect, it } from 'vitest'
import { complete, condition, EMPTY, fromCanonical, headline, named, python, toQuestion, toSql } from './question'

const ADULT = [
  { name: 'age', values: null },
  { name: 'sex', values: ['Female', 'Male'] },
  { name: 'marital status', values: ["Don't say", 'Married'] },
]

describe('a form', () => {
  it('becomes SQL', () => {
    expect(toSql({ ...EMPTY, groups: ['sex'], where: 'age >= 40' }, 'adult', null)).toBe('SELECT sex, COUNT(*)\nFROM adult\nWHERE age >= 40\nGROUP BY sex')
    expect(toSql({ ...EMPTY, measure: 'mean', column: 'order' }, 'a b', null)).toBe('SELECT AVG("order")\nFROM "a b"')
    expect(toSql({ ...EMPTY, measure: 'persons' }, 'visits', 'id')).toBe('SELECT COUNT(DISTINCT id)\nFROM visits')
    expect(toSql({ ...EMPTY, measure: 'ranges', column: 'age' }, 'adult', null)).toBeNull()
  })
  it('becomes JSON where SQL has no words', () => {
    expect(toQuestion({ ...EMPTY, measure: 'ranges', column: 'age' })).toEqual({ ask: 'ranges', column: 'age' })
    expect(toQuestion({ ...EMPTY, groups: ['sex'] })).toEqual({ ask: 'histogram', columns: ['sex'] })
  })
  it('comes back from the canonical question', () => {
    const question = {
      measure: { count: 'rows' },
      axes: [{ column: ['sex', 'text'], keys: ['Female', 'Male'], other: null }],
      where: { all: [{ compare: '>=', column: ['age', 'integer'], value: 40 }, { compare: 'in', column: ['sex', 'text'], value: ["a'b", 'c'] }] },
    }
    expect(fromCanonical(question)).toEqual({ ...EMPTY, groups: ['sex'], where: "age >= 40 AND sex IN ('a''b', 'c')" })
    const median = { measure: { quantiles: { qs: ['1/2'], between: 'cont' } }, axes: [{ column: ['age', 'integer'] }], where: null }
    expect(fromCanonical(median)).toMatchObject({ measure: 'median', column: 'age', groups: [] })
    expect(fromCanonical({ measure: { linear: [] }, axes: [], where: null })).toBeNull()
  })
})

it('conditions keep their brackets', () => {
  const any = { any: [{ compare: 'is null', column: ['a', 'text'] }, { all: [{ compare: '=', column: ['b', 'boolean'], value: true }, { compare: '<', column: ['c d', 'number'], value: 1.5 }] }] }
  expect(condition(any)).toBe('a IS NULL OR (b = TRUE AND "c d" < 1.5)')
})

it('names that are words of SQL are quoted', () => {
  expect(named('select')).toBe('"select"')
  expect(named('a"b')).toBe('"a""b"')
  expect(named('age_2')).toBe('age_2')
})

describe('completion', () => {
  it('offers columns and words', () => {
    expect(complete('SELECT a', 8, ADULT).options).toEqual(['age', 'AVG(', 'AND'])
    expect(complete('SELECT ', 7, ADULT).options).toEqual([])
  })
  it('offers the declared values of a column', () => {
    expect(complete('sex = ', 6, ADULT)).toEqual({ from: 6, options: ["'Female'", "'Male'"] })
    expect(complete("sex = 'M", 8, ADULT)).toEqual({ from: 6, options: ["'Male'"] })
    expect(complete('"marital status" IN (', 21, ADULT).options).toEqual(["'Don''t say'", "'Married'"])
  })
})

it('a question has a headline and its Python', () => {
  const question = { measure: { mean: { column: ['age', 'integer'], low: 0, high: 120, step: '1' } }, axes: [{ column: ['sex', 'text'], keys: ['a'] }], where: { compare: '>', column: ['age', 'integer'], value: 3 } }
  expect(headline(question)).toBe('Mean of age by sex where age > 3')
  expect(python(question, null, '0.1')).toBe('print(session.sql("SELECT sex, AVG(age) FROM data WHERE age > 3 GROUP BY sex", spend=dv.Budget.pure("0.1")))')
})
