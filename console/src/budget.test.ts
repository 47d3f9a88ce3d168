import { describe, expect, it } from 'vitest'
import { currency, editable, limit, meaning, rest, share, spent, worstAndAverage } from './budget'

const PURE = { currency: 'pure' as const, epsilon: '3', delta: null, zeta: null }
const BOTH = { epsilon: '3', delta: '1/1000000' }
const ZETA = { zeta: '0.5', epsilon: '2' }

describe('a budget', () => {
  it('knows its currency without being told', () => {
    expect([PURE, BOTH, ZETA].map(currency)).toEqual(['pure', 'approximate', 'zeta'])
  })
  it('never shows zeta without the worst case', () => {
    expect(limit(ZETA)).toBe('ζ 0.5, worst case ε 2')
    expect(meaning(ZETA, 'a row')).toContain('in the worst case')
    expect(rest({ zeta: '0.2', epsilon: '1.2345' })).toBe('ζ 0.2, ε 1.23')
  })
  it('shows zeta only where it differs from epsilon', () => {
    expect(worstAndAverage('0.5', '0.5')).toBe('ε 0.5 in the worst case')
    expect(worstAndAverage('1', '0.328')).toBe('ε 1 in the worst case, ζ 0.328 on average')
    expect(worstAndAverage('1', null)).toBe('ε 1 in the worst case')
  })
  it('says delta as the guarantees say it', () => {
    expect(meaning(BOTH, 'a person')).toBe(
      'With probability 1 − 10⁻⁶ everything that is asked acts like answers after which someone who is 50 % sure that a person is in the data is at most 95.3\u00a0% sure.',
    )
  })
  it('rounds what was spent up', () => {
    expect(spent({ epsilon: '0.10001', zeta: '0.1', delta: '0' })).toBe('ε 0.101')
    expect(spent({ epsilon: null, zeta: null, delta: '0.000001' })).toBe('ε without bound, δ 10⁻⁶')
  })
  it('is gone by what no longer remains', () => {
    const budget = { currency: 'pure' as const, epsilon: '3', delta: '0', zeta: null }
    const gone = (epsilon: string): number => share({ budget, remaining: { epsilon } })
    expect(gone('0.75')).toBe(0.75)
    expect(gone('-1')).toBe(1)
  })
  it('is edited as a decimal', () => {
    expect(editable('1/1000000')).toBe('1e-6')
    expect(editable('1/8')).toBe('0.125')
    expect(editable('3')).toBe('3')
  })
})
