// The same package for those who call `require`.

import durward = require('durward')
import middleware = require('durward/express')

const pdp = durward.Pdp.fromDir('policies')
const watch: durward.Watch = pdp.watch({ subject: 1, action: 1, resource: 1 })
watch.close()
middleware.guard(pdp)
