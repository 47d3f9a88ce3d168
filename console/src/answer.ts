/** Values and error bars of an answer as people read them. */
import { exact, fixed, plusMinus, type Rounding } from './format'

type Value = string | number | null

/** A value with as many decimals as its error bar makes sense of; whole numbers in full. */
export function measured(value: Value, low: Value, high: Value, rounding: Rounding = 'nearest'): string {
  if (value === null) return 'none'
  const size = Number(value)
  if (Number.isInteger(size) || !Number.isFinite(size)) return exact(value)
  const width = Math.abs(Number(high) - Number(low)) / 2
  if (low === null || high === null || !(width > 0)) return exact(Number(size.toPrecision(6)))
  const decimals = Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(width))))
  return fixed(value, decimals, rounding)
}

/** ±9 where the bar is even on both sides, else its ends; never shorter than it is. */
export function half(value: Value, low: Value, high: Value): string {
  if (value === null || low === null || high === null) return ''
  const [below, above] = [Number(value) - Number(low), Number(high) - Number(value)]
  if (Math.abs(below - above) <= 1e-3 * Math.max(Math.abs(below), Math.abs(above))) return plusMinus(Math.max(below, above))
  return `${measured(low, low, high, 'down')} to ${measured(high, low, high, 'up')}`
}

/** The error of each where it is the same for all; empty otherwise. */
export function middle(halves: string[]): string {
  return new Set(halves).size === 1 ? (halves[0] ?? '') : ''
}
