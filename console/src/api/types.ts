/** The forms of the HTTP interface under the console's names for them, made from the service's own description (`npm run types`). */
import type { components } from './openapi'

type Forms = components['schemas']

export type Amount = Forms['Amount']
/** An answer, as it comes or as it is read again later; a question that failed has none. */
export type Answered = Forms['Answered'] | (Omit<Forms['Answered'], 'state'> & { state: 'failed' })
export type AnswerRow = Forms['AnswerRow']
/** A limit as it is read, or as somebody types it. */
export type Budget = { epsilon: string } & { [field in 'currency' | 'delta' | 'zeta']?: Forms['BudgetForm'][field] | null }
export type Column = Forms['ColumnForm']
export type Dataset = Forms['DatasetForm']
export type DatasetSummary = Forms['DatasetSummary']
export type Design = Forms['DesignForm']
export type Estimate = Forms['EstimateForm']
export type Grant = Forms['GrantForm']
export type Key = Forms['KeyForm']
export type MadeKey = Forms['MadeKey']
export type Me = Forms['Me']
export type Noise = Forms['Noise']
export type OneAnswer = Forms['AnswerForm'] | Forms['RunAnswerForm']
export type Overview = Forms['Overview']
export type Past = Forms['HistoryLine']
export type Pay = Forms['Pay']
export type Person = Forms['PersonForm']
export type Plan = Forms['PlanForm']
export type PlanQuote = Forms['PlanQuoteForm']
export type Quote = Forms['QuoteForm']
export type RecordOf = Forms['RecordForm']
export type Remaining = Partial<Forms['Remaining']>
export type Run = Forms['RunForm']
export type RunAnswers = Forms['RunAnswered']
export type RunOffer = Forms['RunOffer']
export type Selected = Forms['Table']
export type Source = Forms['NewDataset']['source']
export type Sources = Forms['Sources']
export type Standing = Forms['StandingForm']
export type Verified = Forms['Verified']
export type Vintage = Forms['VintageForm']
export type Vintages = Forms['Vintages']

export type ColumnType = NonNullable<Column['type']>
export type Role = Me['role']

/** A question as the form of the console makes it. */
export type Question = { ask: string } & Record<string, unknown>
export type Asked = ({ question: Question; pay: Pay } | { sql: string; pay: Pay }) & { vintages?: string[] }
