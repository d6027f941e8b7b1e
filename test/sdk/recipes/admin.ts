import { createAdminClient } from '@referral/sdk/admin'

const admin = createAdminClient({
  apiKey: process.env.REFERRAL_OWNER_TOKEN,
  baseUrl: process.env.REFERRAL_BASE_URL,
})

// Both secrets are valid for an hour, so that programs can be updated one by one.
const { data } = await admin.keys.list()
for (const { id, label } of data) {
  const { secret } = await admin.keys.rotate(id, { overlapSeconds: 3600 })
  console.log(label, secret.length > 20)
}
