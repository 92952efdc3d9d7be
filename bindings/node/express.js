'use strict'

const { enforce, pathOf, settings } = require('./lib/enforce.js')

/** Subject from `req.user`, or null; the method; the whole path, decoded, wherever the guard is mounted. */
function subscriptionOf(req) {
  const path = pathOf(req.originalUrl ?? req.url)
  return path === undefined ? undefined : { subject: req.user ?? null, action: req.method, resource: path }
}

/** Middleware for Express, and for Connect: lets a request through if `pdp` permits it, and answers 403 otherwise. */
function guard(pdp, options = {}) {
  const chosen = settings(pdp, options, subscriptionOf)
  const deny = options.deny ?? forbid
  return function durwardGuard(req, res, next) {
    enforce(chosen, { request: req, response: res }).then(
      ({ decision, granted }) => {
        req.decision = decision
        if (!granted) return deny(req, res, next)
        // A handler may have answered.
        if (!res.writableEnded) next()
      },
    ).catch(next)
  }
}

function forbid(req, res) {
  res.statusCode = 403
  res.setHeader('content-type', 'text/plain; charset=utf-8')
  res.end('Forbidden')
}

module.exports = { guard, subscriptionOf }
