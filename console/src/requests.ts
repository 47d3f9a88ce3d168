import { get, pause, post, send, requestKey } from './api/http'
import type { Answered, Asked, DatasetSummary, Quote, Vintages } from './api/types'

/** Answers that just came, so that their screen shows them at once, with the layout of their SELECT. */
const recent = new Map<string, Answered>()

const base = (dataset: string): string => `/v1/datasets/${encodeURIComponent(dataset)}`

/** The vintages of a dataset, where it has any. */
export async function vintagesOf(dataset: Pick<DatasetSummary, 'name' | 'vintages'>): Promise<Vintages | null> {
  return dataset.vintages.length ? get<Vintages>(`${base(dataset.name)}/vintages`) : null
}

export function quote(dataset: string, asked: Asked, signal: AbortSignal): Promise<Quote> {
  return post<Quote>(`${base(dataset)}/quotes`, asked, undefined, signal)
}

/** One key for each offer: a second click, or a retry after a lost reply, is the same request and is paid once. */
export class RequestKeys {
  readonly #keys = new Map<string, string>()

  key(digest: string): string {
    const known = this.#keys.get(digest) ?? requestKey()
    this.#keys.set(digest, known)
    return known
  }
}

export async function answer(dataset: string, asked: Asked, offer: Quote, key: string): Promise<Answered> {
  const reply = await send('POST', `${base(dataset)}/answers`, { body: { ...asked, quote: offer.digest }, key })
  const found = reply.status === 202 ? await wait(reply) : ((await reply.json()) as Answered)
  if (found.id) recent.set(found.id, found)
  return found
}

async function wait(reply: Response): Promise<Answered> {
  const place = reply.headers.get('Location') ?? ''
  let last = reply
  while (last.status === 202) {
    await pause(1000 * Math.max(1, Number(last.headers.get('Retry-After')) || 1))
    last = await send('GET', place)
  }
  return (await last.json()) as Answered
}

/** The answer of an id, waiting while it is still being made. */
export async function recall(id: string): Promise<Answered> {
  const known = recent.get(id)
  if (known) return known
  const reply = await send('GET', `/v1/answers/${encodeURIComponent(id)}`)
  return reply.status === 202 ? wait(new Response(null, { status: 202, headers: { Location: `/v1/answers/${encodeURIComponent(id)}` } })) : ((await reply.json()) as Answered)
}
