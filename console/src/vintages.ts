/** Vintages: the parts of a dataset, such as months, that its curator declared. */
import type { Vintage, Vintages } from './api/types'

/** Labels as people read them; empty where no vintage is named. */
export function words(labels: readonly string[]): string {
  return labels.length < 3 ? labels.join(' and ') : `${labels.slice(0, -1).join(', ')} and ${labels[labels.length - 1]}`
}

/** Labels as the address of a screen holds them: one a line. */
export const written = (labels: readonly string[]): string => labels.join('\n')
export const read = (text: string | undefined): string[] => (text ? text.split('\n').filter(Boolean) : [])

export const same = (one: readonly string[], other: readonly string[]): boolean => written(one) === written(other)

export interface Option {
  labels: string[]
  shown: string
}

/** What can be chosen: the dataset as it is unless each row belongs to one vintage, each vintage, and what is chosen now. */
export function options(found: Vintages, chosen: readonly string[]): Option[] {
  const offered: Option[] = found.disjoint ? [] : [{ labels: [], shown: 'no vintage in particular' }]
  for (const one of found.vintages) offered.push({ labels: [one.label], shown: one.complete ? one.label : `${one.label} (rows may still be added)` })
  if (!offered.some((one) => same(one.labels, chosen)) && chosen.length) offered.push({ labels: [...chosen], shown: words(chosen) })
  return offered
}

/** The vintages to begin with: those of the address, or the newest where one has to be named. */
export function begin(found: Vintages | null, wanted: readonly string[]): string[] {
  if (!found) return []
  const known = new Set(found.vintages.map((one) => one.label))
  const kept = wanted.filter((one) => known.has(one))
  const newest = found.vintages[found.vintages.length - 1]
  return kept.length || !found.disjoint || !newest ? kept : [newest.label]
}

/** The one vintage that is chosen, which says what is left of it. */
export function chosenOne(found: Vintages | null, chosen: readonly string[]): Vintage | null {
  return (chosen.length === 1 && found?.vintages.find((one) => one.label === chosen[0])) || null
}

/** What a body names; nothing where no vintage is meant. */
export const named = (labels: readonly string[]): { vintages?: string[] } => (labels.length ? { vintages: [...labels] } : {})

/** The same in Python, after the dataset's name. */
export function python(labels: readonly string[]): string {
  if (!labels.length) return ''
  return `, vintage=${labels.length === 1 ? JSON.stringify(labels[0]) : JSON.stringify(labels)}`
}
