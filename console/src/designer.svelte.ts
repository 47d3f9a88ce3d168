import { post } from './api/http'
import type { Design, Estimate } from './api/types'
import { masses, number, pieces, type Masses } from './noise'

/** The stops of the four sliders. */
export const ERRORS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000]
export const ODDS = ['1/2', '2/3', '3/4', '4/5', '9/10', '19/20', '49/50', '99/100', '199/200', '999/1000']
export const ANSWERS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000]
export const DELTAS = ['', '1e-12', '1e-11', '1e-10', '1e-9', '1e-8', '1e-7', '1e-6', '1e-5', '1e-4', '1e-3']

export interface Wanted {
  within: number
  probability: string
  answers: number
  delta: string
}

/** Where a value stands on its slider, or the nearest stop. */
export function stop(stops: readonly (string | number)[], value: string | number | undefined, otherwise: number): number {
  if (value === undefined) return otherwise
  const exactly = stops.findIndex((one) => String(one) === String(value))
  if (exactly >= 0) return exactly
  const size = number(value)
  if (!Number.isFinite(size)) return otherwise
  const gaps = stops.map((one) => (one === '' ? Infinity : Math.abs(Math.log(number(one) / size))))
  return gaps.indexOf(Math.min(...gaps))
}

export function request(wanted: Wanted): Record<string, unknown> {
  const asked = { within: wanted.within, probability: wanted.probability, queries: wanted.answers }
  return wanted.delta ? { ...asked, delta: wanted.delta } : { ...asked, minimise: 'epsilon' }
}

export function python(wanted: Wanted): string {
  const price = wanted.delta ? `delta="${wanted.delta}"` : 'minimise="epsilon"'
  return `import dovetail as dv

designed = dv.design(within=${wanted.within}, probability="${wanted.probability}", queries=${wanted.answers}, ${price})
print(designed.explain())
`
}

/** Keeps the figures up with the sliders: an estimate at once, the certified design when they rest. */
export class Designer {
  estimate = $state.raw<Estimate | null>(null)
  design = $state.raw<Design | null>(null)
  trouble = $state.raw<unknown>(null)
  /** Whether the design on show is the one of the sliders. */
  certified = $state(false)

  #wanted: Wanted | null = null
  #dataset = ''
  #asking = false
  readonly #known = new Map<string, Estimate>()
  #rest: ReturnType<typeof setTimeout> | undefined
  #stop: AbortController | null = null

  want(wanted: Wanted, dataset: string): void {
    this.#wanted = wanted
    this.#dataset = dataset
    this.certified = false
    this.#stop?.abort()
    clearTimeout(this.#rest)
    this.#rest = setTimeout(() => void this.#certify(wanted, dataset), 180)
    void this.#guess()
  }

  /** One estimate is under way at a time; when it comes back, what is wanted by then follows. */
  async #guess(): Promise<void> {
    if (this.#asking) return
    this.#asking = true
    try {
      let asked: Wanted | null = null
      while (this.#wanted !== asked && this.#wanted) {
        asked = this.#wanted
        const found = await this.#estimated(asked)
        if (!this.certified) {
          this.estimate = found
          this.trouble = null
        }
      }
    } catch {
      // The certified design says what is wrong.
    } finally {
      this.#asking = false
    }
  }

  /** A slider passes the same stops again and again; what was estimated once is known. */
  async #estimated(wanted: Wanted): Promise<Estimate> {
    const key = JSON.stringify(wanted)
    const found = this.#known.get(key) ?? (await post<Estimate>('/v1/design', { ...request(wanted), estimate: true }))
    this.#known.set(key, found)
    return found
  }

  async #certify(wanted: Wanted, dataset: string): Promise<void> {
    const stop = new AbortController()
    this.#stop = stop
    try {
      const found = await post<Design>('/v1/design', { ...request(wanted), ...(dataset && { dataset }) }, undefined, stop.signal)
      if (this.#wanted !== wanted || this.#dataset !== dataset) return
      this.design = found
      this.estimate = null
      this.trouble = null
      this.certified = true
    } catch (error) {
      if (!stop.signal.aborted) this.trouble = error
    }
  }

  /** The noise on show. */
  get law(): Masses | null {
    if (this.estimate?.rates.length) return pieces(this.estimate.rates, this.estimate.breaks)
    return this.design ? masses(this.design.noise) : null
  }

  /** The price of all answers, at the delta that was chosen. */
  get epsilon(): number | null {
    if (this.estimate) return this.estimate.epsilon
    return this.design ? (this.design.all.epsilon_at_delta ?? this.design.all.epsilon) : null
  }

  end(): void {
    this.#wanted = null
    clearTimeout(this.#rest)
    this.#stop?.abort()
  }
}
