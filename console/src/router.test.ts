import { describe, expect, it } from 'vitest'
import { link, read } from './router.svelte'

describe('addresses', () => {
  it('come back as they were written', () => {
    const address = link(['ask', 'a/b ü'], { sql: "SELECT count(*) FROM t WHERE x = '&?#'", within: 5, none: '' })
    expect(read(address)).toEqual({
      path: ['ask', 'a/b ü'],
      query: { sql: "SELECT count(*) FROM t WHERE x = '&?#'", within: '5' },
    })
  })
  it('survive nonsense', () => {
    expect(read('')).toEqual({ path: [], query: {} })
    expect(read('#/%E0%A4%A')).toEqual({ path: ['%E0%A4%A'], query: {} })
  })
})
