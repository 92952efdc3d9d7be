'use strict'

const { enforce, pathOf, settings } = require('./lib/enforce.js')

/** Subject from `req.user`, or null; the method; the whole path, decoded, wherever the guard is mounted. */
function subscriptionOf(req) {
  const path = pathOf(req.originalUrl ?? req.url)
  return path === undefined ? undefined : { subject: req.user ?? null, action: req.method, resource: path }
}

/** Middleware for Express and Connect: lets a request through if `pdp` permits it, and answers 403 otherwise. */
function guard(pdp, options = {}) {
  const chosen = settings(pdp, options, subscriptionOf)
  const deny = options.deny ?? forbid
  async function decide(req, res) {
    const { decision, granted } = await enforce(chosen, { request: req, response: res })
    req.decision = decision
    if (!granted) await deny(req, res)
    // A handler may have answered.
    return granted && !res.writableEnded
  }
  return function durwardGuard(req, res, next) {
    decide(req, res).then((goesOn) => {
      if (goesOn) next()
    }, next)
  }
}

function forbid(req, res) {
  res.statusCode = 403
  res.setHeader('content-type', 'text/plain; charset=utf-8')
  res.end('Forbidden')
}

module.exports = { guard, subscriptionOf }
