/** Numbers as people read them. A cost is rounded up and what remains is rounded down, never the other way. */

export type Rounding = 'up' | 'down' | 'nearest'
export type Decimal = string | number

const MINUS = '\u2212'
const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹'

interface Parts {
  negative: boolean
  digits: bigint
  exponent: number
}

/** Reads "1.25", "3e-7", "1/3" or a float into digits times a power of ten; null where it is not a number. */
export function parse(value: Decimal): Parts | null {
  // A float carries digits that mean nothing behind the twelfth.
  const text = typeof value === 'number' && Number.isFinite(value) ? String(Number(value.toPrecision(12))) : String(value).trim()
  const fraction = /^(-?\d+)\/(\d+)$/.exec(text)
  if (fraction) return parse(Number(fraction[1]) / Number(fraction[2]))
  const found = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text)
  if (!found || (found[2] ?? '') + (found[3] ?? '') === '') return null
  const decimals = found[3] ?? ''
  return {
    negative: found[1] === '-',
    digits: BigInt((found[2] ?? '') + decimals),
    exponent: Number(found[4] ?? 0) - decimals.length,
  }
}

/** Keeps so many decimals. `up` is away from zero on the positive side, as for costs. */
function rounded(parts: Parts, decimals: number, rounding: Rounding): Parts {
  const drop = -decimals - parts.exponent
  if (drop <= 0) return parts
  const unit = 10n ** BigInt(drop)
  const rest = parts.digits % unit
  let digits = parts.digits / unit
  const outward = parts.negative ? 'down' : 'up'
  if (rounding === 'nearest' ? rest * 2n >= unit : rest > 0n && rounding === outward) digits += 1n
  return { negative: parts.negative && digits > 0n, digits, exponent: -decimals }
}

function plain(parts: Parts): string {
  let text = parts.digits.toString()
  if (parts.exponent >= 0) text += '0'.repeat(parts.exponent)
  else {
    text = text.padStart(1 - parts.exponent, '0')
    const cut = text.length + parts.exponent
    const decimals = text.slice(cut).replace(/0+$/, '')
    text = text.slice(0, cut) + (decimals && '.' + decimals)
  }
  const [whole = '', decimals] = text.split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',')
  return (parts.negative ? MINUS : '') + grouped + (decimals ? '.' + decimals : '')
}

function magnitude(parts: Parts): number {
  return parts.digits.toString().length - 1 + parts.exponent
}

/** A number with so many significant digits; far from one, as a power of ten. */
export function figure(value: Decimal, rounding: Rounding = 'nearest', significant = 3): string {
  const parts = parse(value)
  if (!parts) return String(value)
  if (parts.digits === 0n) return '0'
  const size = magnitude(parts)
  if (size < -4 || size > 9) return power(parts, rounding)
  const decimals = size >= 0 && size < 3 ? significant - 1 : significant - 1 - size
  return plain(rounded(parts, Math.max(0, decimals), rounding))
}

function power(parts: Parts, rounding: Rounding): string {
  const size = magnitude(parts)
  const scaled = rounded({ ...parts, exponent: parts.exponent - size }, 1, rounding)
  const mantissa = plain(scaled)
  const exponent = mantissa === '10' ? size + 1 : size
  const raised = String(Math.abs(exponent)).replace(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)] ?? digit)
  const tens = '10' + (exponent < 0 ? '⁻' : '') + raised
  return mantissa === '1' || mantissa === '10' ? tens : `${mantissa}·${tens}`
}

/** A released number: all its digits, thousands apart. */
export function exact(value: Decimal): string {
  const parts = parse(value)
  return parts ? plain(parts) : String(value)
}

/** A number with so many decimals. */
export function fixed(value: Decimal, decimals: number, rounding: Rounding = 'nearest'): string {
  const parts = parse(value)
  return parts ? plain(rounded(parts, decimals, rounding)) : String(value)
}

/** Half the width of an interval, as ±9. */
export function plusMinus(value: Decimal): string {
  return '±' + figure(value, 'up')
}

/** A price; one without a worst case says so. */
export const cost = (value: Decimal | null): string => (value === null ? 'without bound' : figure(value, 'up'))
export const left = (value: Decimal): string => figure(value, 'down')

/** A share as a percentage; never 100 % unless it is. */
export function percent(share: number, decimals = 1, rounding: Rounding = 'nearest'): string {
  const parts = parse(share)
  if (!parts) return '–'
  const inHundred = { ...parts, exponent: parts.exponent + 2 }
  for (let places = decimals; places <= 12; places += 1) {
    const shown = rounded(inHundred, places, rounding)
    if (share >= 1 || plain(shown) !== '100') return `${plain(shown)}\u00a0%`
  }
  return 'over 99.9999\u00a0%'
}

/** 0.95 as "19 of 20": the smallest denominator that says it exactly. */
export function odds(share: number): string {
  for (let whole = 2; whole <= 10_000; whole += 1) {
    const part = Math.round(share * whole)
    if (part > 0 && part < whole && Math.abs(part / whole - share) < 1e-9) return `${exact(part)} of ${exact(whole)}`
  }
  return percent(share, 3)
}

/** What somebody who is 50 % sure can become sure of, after a loss of epsilon; rounded up. */
export function suspicion(epsilon: Decimal | null): string {
  const size = epsilon === null ? Infinity : Number(epsilon)
  const share = 1 / (1 + Math.exp(-size))
  if (share >= 1 - 1e-10) return 'practically certain'
  const decimals = share < 0.9 ? 1 : Math.min(8, Math.max(1, Math.ceil(-Math.log10(1 - share)) - 2))
  return `at most ${percent(share, decimals, 'up')} sure`
}

export function when(moment: string | null | undefined): string {
  if (!moment) return '–'
  const date = new Date(moment)
  if (Number.isNaN(date.getTime())) return moment
  return date.toLocaleString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' })
}

export function day(moment: string | null | undefined): string {
  if (!moment) return '–'
  const date = new Date(moment)
  return Number.isNaN(date.getTime())
    ? moment
    : date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
}

export function counted(number: number, one: string, many: string = one + 's'): string {
  return `${exact(number)} ${number === 1 ? one : many}`
}
