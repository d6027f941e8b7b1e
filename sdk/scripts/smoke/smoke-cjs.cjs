const sdk = require('@referral/sdk')
const msw = require('@referral/sdk/msw')

import('./smoke-node.mjs').then(({ smokeNode }) => smokeNode(sdk, msw)).then(() => console.log('ok'))
