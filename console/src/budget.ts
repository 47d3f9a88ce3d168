/** What a budget, an amount or what is left says in words. */
import type { Amount, Budget, Remaining } from './api/types'
import { cost, figure, left, suspicion } from './format'
import { number } from './noise'

export type Currency = 'pure' | 'approximate' | 'zeta'

export function currency(budget: Budget): Currency {
  if (budget.currency) return budget.currency
  if (budget.zeta) return 'zeta'
  return number(budget.delta ?? '0') > 0 ? 'approximate' : 'pure'
}

export function limit(budget: Budget): string {
  const kind = currency(budget)
  if (kind === 'zeta') return `ζ ${figure(budget.zeta ?? '', 'down')}, worst case ε ${figure(budget.epsilon, 'down')}`
  const delta = kind === 'approximate' ? ` at δ ${figure(number(budget.delta ?? '0'))}` : ''
  return `ε ${figure(String(number(budget.epsilon ?? '0')), 'down')}${delta}`
}

export function spent(amount: Amount | null): string {
  if (!amount) return 'by a plan'
  const worst = `ε ${cost(amount.epsilon)}`
  return number(amount.delta) > 0 ? `${worst}, δ ${cost(number(amount.delta))}` : worst
}

/** The worst case in words, and the average beside it where the two differ as shown. */
export function worstAndAverage(epsilon: string | number | null, zeta: string | number | null): string {
  const worst = `ε ${cost(epsilon)} in the worst case`
  return zeta === null || cost(zeta) === cost(epsilon) ? worst : `${worst}, ζ ${cost(zeta)} on average`
}

export function rest(remaining: Remaining | null | undefined): string {
  if (!remaining) return '–'
  const parts = []
  if (remaining.zeta != null) parts.push(`ζ ${left(number(remaining.zeta))}`)
  if (remaining.epsilon != null) parts.push(`ε ${left(number(remaining.epsilon))}`)
  return parts.join(', ') || 'without bound'
}

/** The share of the limit that is gone, in the budget's own currency. */
export function share(standing: { budget: Budget; remaining: Remaining }): number {
  const kind = currency(standing.budget)
  const whole = number((kind === 'zeta' ? standing.budget.zeta : standing.budget.epsilon) ?? '0')
  const remaining = kind === 'zeta' ? standing.remaining.zeta : standing.remaining.epsilon
  if (!(whole > 0) || remaining == null) return 0
  return Math.min(1, Math.max(0, 1 - number(remaining) / whole))
}

/** What a limit means for a person, in the exact sense of each currency. */
export function meaning(budget: Budget, whom: string): string {
  const worst = suspicion(number(budget.epsilon ?? 'Infinity'))
  const who = `someone who is 50 % sure that ${whom} is in the data`
  switch (currency(budget)) {
    case 'pure':
      return `Whatever is asked, ${who} becomes ${worst}.`
    case 'approximate':
      return `With probability 1 − ${figure(number(budget.delta ?? '0'))} everything that is asked acts like answers after which ${who} is ${worst}.`
    case 'zeta':
      return `On average over the noise, ${who} becomes ${suspicion(number(budget.zeta ?? '0'))}; in the worst case ${worst}.`
  }
}

/** An exact number as people type it: 1/1000000 is 1e-6. */
export function editable(value: string | null | undefined): string {
  if (!value?.includes('/')) return value ?? ''
  const size = number(value)
  return size < 1e-3 ? size.toExponential() : String(size)
}

export const whom = (unit: string | null | undefined): string => (unit ? 'a person' : 'a row')
