import { describe, expect, it } from 'vitest'
import { cost, counted, exact, figure, left, odds, percent, plusMinus, suspicion } from './format'

describe('figures', () => {
  it('round a cost up and what remains down', () => {
    expect(cost('0.27701')).toBe('0.278')
    expect(left('0.27799')).toBe('0.277')
    expect(cost('0.277')).toBe('0.277')
    expect(cost('8.1301')).toBe('8.14')
    expect(cost('10.7431')).toBe('10.75')
    expect(cost(0.8310000000000001)).toBe('0.831')
    expect(cost('1234.5')).toBe('1,235')
    expect(left('-0.0011')).toBe('\u22120.0011')
  })
  it('show far powers of ten as powers', () => {
    expect(figure('1e-6')).toBe('10⁻⁶')
    expect(cost('0.0000099901')).toBe('10⁻⁵')
    expect(cost('0.00000251')).toBe('2.6·10⁻⁶')
    expect(figure(0)).toBe('0')
  })
  it('keep what is no number as it is', () => {
    expect(figure('inf')).toBe('inf')
    expect(exact('abc')).toBe('abc')
  })
  it('read fractions', () => expect(figure('1/3')).toBe('0.333'))
})

describe('released numbers', () => {
  it('keep every digit, also beyond floats, and show negatives', () => {
    expect(exact('9007199254740993')).toBe('9,007,199,254,740,993')
    expect(exact('-12')).toBe('\u221212')
    expect(exact('1234.50')).toBe('1,234.5')
    expect(exact(10498)).toBe('10,498')
  })
  it('have an error rounded up', () => expect(plusMinus('9.001')).toBe('±9.01'))
})

describe('shares', () => {
  it('are never 100 % unless they are', () => {
    expect(percent(0.9999)).toBe('99.99\u00a0%')
    expect(percent(1)).toBe('100\u00a0%')
    expect(percent(0.946)).toBe('94.6\u00a0%')
  })
  it('are said as odds', () => {
    expect(odds(0.95)).toBe('19 of 20')
    expect(odds(0.9)).toBe('9 of 10')
    expect(odds(0.99)).toBe('99 of 100')
    expect(odds(0.5)).toBe('1 of 2')
  })
})

describe('suspicion', () => {
  it('is e to the epsilon over one plus it, rounded up', () => {
    expect(suspicion(0)).toBe('at most 50\u00a0% sure')
    expect(suspicion('1')).toBe('at most 73.2\u00a0% sure')
    expect(suspicion(8.14)).toBe('at most 99.98\u00a0% sure')
    expect(suspicion(50)).toBe('practically certain')
  })
})

it('counts in words', () => {
  expect(counted(1, 'answer')).toBe('1 answer')
  expect(counted(1200, 'answer')).toBe('1,200 answers')
})
