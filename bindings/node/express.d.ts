import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Decision } from './index.js'
import type { DefaultSubscription, Options, Pdp } from './enforce.js'

export type { Context, Handler, Handlers } from './enforce.js'

export interface GuardOptions<
  Request extends IncomingMessage = IncomingMessage,
  Response extends ServerResponse = ServerResponse,
> extends Options<Request, Response> {
  /** Answers what is refused; by default 403. `request.decision` says what was decided. */
  deny?: (request: Request, response: Response) => unknown
}

/** Middleware for Express and Connect: lets a request through if `pdp` permits it. The decision is put into `request.decision`. */
export function guard<
  Request extends IncomingMessage = IncomingMessage,
  Response extends ServerResponse = ServerResponse,
>(
  pdp: Pick<Pdp, 'decide'>,
  options?: GuardOptions<Request, Response>,
): (request: Request, response: Response, next: (error?: any) => void) => void

/** What is asked by default. */
export function subscriptionOf(request: IncomingMessage): DefaultSubscription | undefined

declare module 'node:http' {
  interface IncomingMessage {
    /** What the guard was told. */
    decision?: Pick<Decision, 'permit' | 'decision'> & Partial<Decision>
  }
}
