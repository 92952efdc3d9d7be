'use strict'

const { DurwardError, PolicyError, QuestionError } = require('./lib/errors.js')
const { Decision, Explanation, Pdp } = require('./lib/pdp.js')
const { Watch } = require('./lib/watch.js')

module.exports = { Decision, DurwardError, Explanation, Pdp, PolicyError, QuestionError, Watch }
