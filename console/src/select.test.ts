import { describe, expect, it } from 'vitest'
import type { Answered, Selected } from './api/types'
import { cell, laidOut } from './select'

const column = { spelling: '', answer: 0, formula: null }
const table = {
  level: '0.95',
  columns: [
    { ...column, name: 'sex', key: 0 },
    { ...column, name: 'n', key: null },
  ],
  rows: [],
  places: [0, 1],
  chosen_by: [],
}
const found = (changed: Partial<Selected> | null): Answered => ({ answers: [{ rows: [{}, {}] }], table: changed && { ...table, ...changed } }) as unknown as Answered

describe('laidOut', () => {
  it('is nothing for a question without SQL, and for a table that says no more than its answer', () => {
    expect(laidOut(found(null))).toBeNull()
    expect(laidOut(found({}))).toBeNull()
  })
  it('is the table where rows are sorted, cut or computed, or columns are several', () => {
    expect(laidOut(found({ places: [1, 0] }))).not.toBeNull()
    expect(laidOut(found({ places: [0] }))).not.toBeNull()
    expect(laidOut(found({ columns: [...table.columns, { ...column, name: 'm', key: null }] }))).not.toBeNull()
    expect(laidOut(found({ columns: [{ ...column, name: 'r', key: null, formula: {} }] }))).not.toBeNull()
  })
})

describe('cell', () => {
  it('reads decimals, and knows a number that is not there', () => {
    expect(cell({ value: '3.5', low: '1', high: '6' })).toEqual({ value: '3.5', low: '1', high: '6' })
    expect(cell(null)).toEqual({ value: null, low: null, high: null })
  })
})
