/** How likely each error is: the mass functions of the noises that a picture shows. Nothing here sets a price. */
import type { Noise } from './api/types'

/** The masses at 0, 1, 2, …, far enough that what is left out cannot be seen. */
export type Masses = number[]

const FAR = 36
const MOST = 400_000

export function number(text: string | number | null | undefined): number {
  const [top = '', bottom] = String(text ?? '').split('/')
  return bottom === undefined ? Number(top) : Number(top) / Number(bottom)
}

/** Masses of exp(-potential), where the potential rises by rates[i] per unit behind breaks[i - 1]. */
export function pieces(rates: number[], breaks: number[]): Masses {
  const weights: number[] = []
  let level = 0
  let piece = 0
  for (let k = 0; level < FAR && k < MOST; k += 1) {
    weights.push(Math.exp(-level))
    // The step from k to k + 1 may cross breaks that are not whole.
    let from = k
    while (piece < breaks.length && (breaks[piece] ?? Infinity) <= k + 1) {
      level += (rates[piece] ?? 0) * ((breaks[piece] ?? 0) - from)
      from = breaks[piece] ?? 0
      piece += 1
    }
    level += (rates[piece] ?? 1) * (k + 1 - from)
  }
  return normalised(weights)
}

export function gaussian(sigma: number): Masses {
  const last = Math.min(MOST, Math.ceil(sigma * 9) + 1)
  return normalised(Array.from({ length: last + 1 }, (_, k) => Math.exp(-(k * k) / (2 * sigma * sigma))))
}

function normalised(weights: number[]): Masses {
  const total = 2 * weights.reduce((sum, weight) => sum + weight, 0) - (weights[0] ?? 0)
  return weights.map((weight) => weight / total)
}

/** A member of a noise that is a list; null where it has none. */
export function listed(noise: Noise, member: 'rates' | 'breaks'): string[] | null {
  const found = noise[member]
  return Array.isArray(found) ? found : null
}

/** A noise in a few words. */
export function pieced(noise: Noise): string {
  const rates = listed(noise, 'rates')
  return rates ? `${rates.length} ${rates.length === 1 ? 'piece' : 'pieces'}` : noise.kind
}

export function masses(noise: Noise): Masses | null {
  const rates = listed(noise, 'rates')
  if (rates) return pieces(rates.map(number), (listed(noise, 'breaks') ?? []).map(number))
  if (typeof noise['sigma'] === 'string') return gaussian(number(noise['sigma']))
  return null
}

/** The share of errors of at most t. */
export function within(law: Masses, t: number): number {
  let share = law[0] ?? 0
  for (let k = 1; k <= t && k < law.length; k += 1) share += 2 * (law[k] ?? 0)
  return Math.min(1, share)
}

export function meanAbs(law: Masses): number {
  return 2 * law.reduce((sum, mass, k) => sum + k * mass, 0)
}

/** The least t that all of so many independent errors keep, together, with this probability. */
export function forAll(law: Masses, cells: number, probability: number): number {
  let inside = law[0] ?? 0
  let t = 0
  while (inside ** cells < probability && t < law.length - 1) {
    t += 1
    inside += 2 * (law[t] ?? 0)
  }
  return t
}

/** The geometric and the Gaussian noise that keep an error within t as often, found by halving. */
export function rivals(t: number, probability: number): { geometric: Masses; gaussian: Masses } {
  const rate = halve(1e-6, 20, (size) => within1(size, t) >= probability)
  const sigma = halve(20 * (t + 1), 0.05, (size) => within(gaussian(size), t) >= probability)
  return { geometric: pieces([rate], []), gaussian: gaussian(sigma) }
}

function within1(rate: number, t: number): number {
  const q = Math.exp(-rate)
  return 1 - (2 * q ** (t + 1)) / (1 + q)
}

function halve(bad: number, good: number, holds: (size: number) => boolean): number {
  for (let round = 0; round < 40; round += 1) {
    const middle = Math.sqrt(bad * good)
    if (holds(middle)) good = middle
    else bad = middle
  }
  return good
}

/** The masses from -most to +most, in steps so that there are at most about 81 bars; a bar is the sum of its step. */
export function drawn(law: Masses, most: number): { errors: number[]; masses: number[]; step: number } {
  const step = Math.max(1, Math.ceil(most / 40))
  const bars = Math.floor(most / step)
  const errors: number[] = []
  const sums: number[] = []
  const half = Math.floor(step / 2)
  for (let bar = -bars; bar <= bars; bar += 1) {
    const middle = bar * step
    let sum = 0
    for (let k = middle - half; k <= middle - half + step - 1; k += 1) sum += law[Math.abs(k)] ?? 0
    errors.push(middle)
    sums.push(sum)
  }
  return { errors, masses: sums, step }
}
