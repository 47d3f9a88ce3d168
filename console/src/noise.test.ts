import { describe, expect, it } from 'vitest'
import { drawn, forAll, gaussian, masses, meanAbs, pieces, rivals, within } from './noise'

const total = (law: number[]): number => 2 * law.reduce((sum, mass) => sum + mass, 0) - (law[0] ?? 0)

describe('masses', () => {
  it('of one piece are the geometric noise', () => {
    const law = pieces([0.5], [])
    const q = Math.exp(-0.5)
    expect(law[0]).toBeCloseTo((1 - q) / (1 + q), 12)
    expect(law[3]).toBeCloseTo(((1 - q) / (1 + q)) * q ** 3, 12)
    expect(meanAbs(law)).toBeCloseTo((2 * q) / (1 - q * q), 10)
  })
  it('add up to one, also with breaks between whole numbers', () => {
    expect(total(pieces([0.1, 0.7, 1.2], [1.5, 4.25]))).toBeCloseTo(1, 12)
    expect(total(gaussian(2.8))).toBeCloseTo(1, 12)
  })
  it('follow the slope on each side of a break', () => {
    const law = pieces([0.2, 1], [2.5])
    expect(Math.log((law[2] ?? 0) / (law[3] ?? 1))).toBeCloseTo(0.5 * 0.2 + 0.5 * 1, 12)
  })
  it('read what the server calls a noise', () => {
    expect(masses({ kind: 'piecewise-geometric', rates: ['1/5', '1'], breaks: ['5'] })).toEqual(pieces([0.2, 1], [5]))
    expect(masses({ kind: 'discrete-gaussian', sigma: '2.5' })).toEqual(gaussian(2.5))
    expect(masses({ kind: 'staircase', epsilon: '1' })).toBeNull()
  })
})

it('noises of the same accuracy keep it, and only just', () => {
  const found = rivals(5, 0.95)
  for (const law of [found.geometric, found.gaussian]) {
    expect(within(law, 5)).toBeGreaterThanOrEqual(0.95)
    expect(within(law, 5)).toBeLessThan(0.9501)
  }
  expect(Math.log((found.geometric[0] ?? 0) / (found.geometric[1] ?? 1))).toBeCloseTo(0.53818, 4)
})

it('all cells at once need a wider bound than one', () => {
  const law = pieces([0.53818], [])
  expect(forAll(law, 1, 0.95)).toBe(5)
  expect(forAll(law, 16, 0.95)).toBeGreaterThan(9)
})

it('bars of a wide noise are sums that miss nothing between them', () => {
  const law = pieces([0.02], [])
  const shown = drawn(law, 200)
  expect(shown.step).toBe(5)
  expect(shown.masses.reduce((sum, mass) => sum + mass, 0)).toBeCloseTo(within(law, 202), 10)
})
