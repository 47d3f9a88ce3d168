/** What went wrong, in the shape of `application/problem+json`. */
export interface ProblemBody {
  type?: string
  title?: string
  detail?: string
  fix?: string[]
  status?: number
  code?: string
  parameter?: string | null
  place?: { line: number; column: number } | null
  remedies?: { remedy: string; [field: string]: unknown }[]
  [field: string]: unknown
}

export class Trouble extends Error {
  readonly status: number
  readonly body: ProblemBody
  readonly retryAfter: number | null

  constructor(status: number, body: ProblemBody, retryAfter: number | null = null) {
    super(body.title ?? 'Something went wrong')
    this.status = status
    this.body = body
    this.retryAfter = retryAfter
  }

  static of(thrown: unknown): Trouble {
    if (thrown instanceof Trouble) return thrown
    return new Trouble(0, { title: 'The console has a bug.', detail: 'Reload the page. This spent nothing.' })
  }

  get code(): string {
    return this.body.code ?? ''
  }

  get title(): string {
    return TITLES[this.code] ?? this.body.title ?? 'Something went wrong.'
  }

  get detail(): string {
    return this.body.detail ?? ''
  }

  get fix(): string[] {
    return this.body.fix ?? []
  }

  /** Refused by a budget or a rule, and not by a fault on the way. */
  get refused(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 401 && this.status !== 404 && this.status !== 429
  }

  /** What the rest of the budget still buys, where the refusal says so. */
  get less(): { within: string; probability: string } | null {
    const found = this.body.remedies?.find((remedy) => remedy.remedy === 'ask-for-less' && remedy['within'])
    return found ? { within: String(found['within']), probability: String(found['probability']) } : null
  }
}

/** Headlines in plain words for what people meet most. */
const TITLES: Record<string, string> = {
  'budget-exceeded': 'The budget is too small for this',
  'quote-changed': 'The price has changed',
  'not-found': 'There is nothing here for you',
  'unauthenticated': 'You are not signed in',
  'unsupported-sql': 'This SQL cannot be answered',
  'invalid-query': 'This question cannot be answered',
  'missing-keys': 'The groups are not declared',
  'missing-price': 'The accuracy is missing',
  'goal-unreachable': 'No noise reaches this',
  'too-many-requests': 'Too many requests in a short time',
  'ledger-busy': 'The ledger is busy',
  'ledger-unavailable': 'The ledger cannot be reached',
  'interrupted': 'Answering was interrupted',
  'data-error': 'The data cannot be read',
  'request-conflict': 'This request was made before',
}

export const GONE: ProblemBody = {
  title: 'The server does not answer.',
  detail: 'Earlier answers are safe in the ledger. A question in progress is charged at most once.',
  fix: ['Check that `dovetail serve` is still running, then try again.'],
}
