import { describe, expect, it } from 'vitest'
import { half, measured } from './answer'
import { parse } from './format'

/** The number that a text shows. */
function read(text: string): number {
  const parts = parse(text.replaceAll(',', '').replace('\u2212', '-'))
  if (!parts) throw new Error(text)
  return (parts.negative ? -1 : 1) * Number(parts.digits) * 10 ** parts.exponent
}

describe('an interval', () => {
  it('is shown by its half where it is even, by its ends where it is not', () => {
    expect(half('1234', '1225', '1243')).toBe('±9')
    expect(half('0', '0', '3')).toBe('0 to 3')
    expect(half('38.58', '38.553', '38.607')).toBe('±0.027')
    expect(half(null, null, null)).toBe('')
  })

  it('is never shown shorter than it is', () => {
    const values = [0.123456, 3.0049, 37.4951, 1234567.891, -5.5555]
    const [below, above] = [
      [0.0126, 0.37777, 9.99501],
      [0.01261, 0.4, 10.00451],
    ] as const
    for (const value of values)
      for (const down of below)
        for (const up of above) {
          const [low, high] = [value - down, value + up]
          const shown = half(String(value), String(low), String(high))
          const room = 1e-9 * Math.abs(value)
          if (shown.startsWith('±')) expect(read(shown.slice(1))).toBeGreaterThanOrEqual(Math.max(down, up) - room)
          else {
            const [first = '', last = ''] = shown.split(' to ')
            expect(read(first)).toBeLessThanOrEqual(low + room)
            expect(read(last)).toBeGreaterThanOrEqual(high - room)
          }
        }
  })
})

it('shows a value with as many decimals as its interval makes sense of', () => {
  expect(measured('38.5855', '38.55', '38.61')).toBe('38.586')
  expect(measured('1234567', '1234560', '1234570')).toBe('1,234,567')
  expect(measured(null, null, null)).toBe('none')
})
