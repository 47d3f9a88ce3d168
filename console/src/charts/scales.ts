import { scaleLinear } from 'd3-scale'

/** A scale from zero to the largest of these numbers, with room for negatives. */
export function fromZero(numbers: number[]) {
  const finite = numbers.filter(Number.isFinite)
  const low = Math.min(0, ...finite)
  const high = Math.max(0, ...finite)
  return scaleLinear().domain([low, high === low ? low + 1 : high])
}

/** The smallest gap that still shows as a whisker, as a share of the whole width. */
export const VISIBLE = 0.02
