import { describe, expect, it } from 'vitest'
import type { Vintages } from './api/types'
import { begin, chosenOne, named, options, python, read, words, written } from './vintages'

const MONTHS: Vintages = {
  vintages: [
    { label: 'January', complete: true, version: null, mine: null, all: null },
    { label: 'February', complete: false, version: null, mine: null, all: null },
  ],
  disjoint: false,
  next: null,
}
const APART: Vintages = { ...MONTHS, disjoint: true }

describe('vintages', () => {
  it('are read as people say them', () => {
    expect([words([]), words(['a']), words(['a', 'b']), words(['a', 'b', 'c'])]).toEqual(['', 'a', 'a and b', 'a, b and c'])
  })
  it('survive the address of a screen', () => {
    for (const labels of [[], ['a, b'], ['January', 'February and more']]) expect(read(written(labels))).toEqual(labels)
    expect(read(undefined)).toEqual([])
  })
  it('need not be named unless each row belongs to one', () => {
    expect(options(MONTHS, []).map((one) => one.labels)).toEqual([[], ['January'], ['February']])
    expect(options(APART, ['February']).map((one) => one.labels)).toEqual([['January'], ['February']])
  })
  it('say which of them may still grow', () => {
    expect(options(APART, []).map((one) => one.shown)).toEqual(['January', 'February (rows may still be added)'])
  })
  it('can be several, as a plan names them', () => {
    expect(options(MONTHS, ['January', 'February'])[3]).toEqual({ labels: ['January', 'February'], shown: 'January and February' })
  })
  it('begin with what the address says, or with the newest where one has to be named', () => {
    expect(begin(null, ['January'])).toEqual([])
    expect(begin(MONTHS, [])).toEqual([])
    expect(begin(MONTHS, ['January', 'no such'])).toEqual(['January'])
    expect(begin(APART, [])).toEqual(['February'])
    expect(begin({ ...APART, vintages: [] }, [])).toEqual([])
  })
  it('say what is left of one only', () => {
    expect(chosenOne(MONTHS, ['January'])?.label).toBe('January')
    expect(chosenOne(MONTHS, ['January', 'February'])).toBeNull()
    expect(chosenOne(null, [])).toBeNull()
  })
  it('are named in bodies and in Python only where one is meant', () => {
    expect([named([]), named(['a'])]).toEqual([{}, { vintages: ['a'] }])
    expect([python([]), python(['a"']), python(['a', 'b'])]).toEqual(['', ', vintage="a\\""', ', vintage=["a","b"]'])
  })
})
