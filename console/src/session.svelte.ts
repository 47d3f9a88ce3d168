import { get, post, send, whenSignedOut } from './api/http'
import type { Me } from './api/types'
import { Trouble } from './api/trouble'

/** Who is signed in. Nothing is kept in the browser but the cookie, which scripts cannot read. */
export const session = $state<{ me: Me | null; ended: boolean }>({ me: null, ended: false })

whenSignedOut(() => {
  if (session.me) session.ended = true
  session.me = null
})

export async function begin(code: string | null): Promise<void> {
  try {
    session.me = code ? await post<Me>('/v1/sessions', { code }) : await get<Me>('/v1/me')
  } catch (error) {
    if (!(error instanceof Trouble) || (error.status !== 401 && error.status !== 0)) throw error
    if (code) await begin(null)
    else if (error.status === 0) throw error
  }
}

export async function signIn(key: string): Promise<void> {
  session.me = await post<Me>('/v1/sessions', { key: key.trim() })
  session.ended = false
}

export async function signOut(): Promise<void> {
  await send('DELETE', '/v1/sessions')
  session.me = null
}
