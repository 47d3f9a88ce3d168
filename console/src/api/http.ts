import { GONE, Trouble, type ProblemBody } from './trouble'

/** A name for one request, under which it may be sent again and is still done, and paid, once. */
export function requestKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

export interface Options {
  body?: unknown
  /** The Idempotency-Key of a request that changes something. */
  key?: string
  signal?: AbortSignal
}

type Listener = () => void
let signedOut: Listener = () => undefined

/** Says what to do when the server no longer knows the session. */
export function whenSignedOut(listener: Listener): void {
  signedOut = listener
}

export async function send(method: string, path: string, options: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (options.body !== undefined) headers['Content-Type'] = 'application/json'
  if (method !== 'GET') headers['Idempotency-Key'] = options.key ?? requestKey()
  let reply: Response
  try {
    reply = await fetch(path, {
      method,
      headers,
      credentials: 'same-origin',
      redirect: 'error',
      cache: 'no-store',
      signal: options.signal ?? null,
      body: options.body === undefined ? null : JSON.stringify(options.body),
    })
  } catch (error) {
    if (options.signal?.aborted) throw error
    throw new Trouble(0, GONE)
  }
  if (reply.ok) return reply
  const retry = Number(reply.headers.get('Retry-After'))
  const trouble = new Trouble(reply.status, await problem(reply), retry > 0 ? retry : null)
  if (reply.status === 401) signedOut()
  throw trouble
}

async function problem(reply: Response): Promise<ProblemBody> {
  try {
    return (await reply.json()) as ProblemBody
  } catch {
    return { title: 'The server could not answer this.', detail: `It said ${reply.status}.`, fix: ['Try again.'] }
  }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await send('GET', path, signal ? { signal } : {})).json()) as T
}

export async function post<T>(path: string, body: unknown, key?: string, signal?: AbortSignal): Promise<T> {
  const options: Options = { body }
  if (key) options.key = key
  if (signal) options.signal = signal
  const reply = await send('POST', path, options)
  return (reply.status === 204 ? undefined : await reply.json()) as T
}

export const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))
