import { createReferralClient } from '@referral/sdk'

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: process.env.REFERRAL_BASE_URL,
})

for await (const affiliate of client.affiliates.list({ status: 'PENDING' })) {
  await client.affiliates.update(affiliate.id, { status: 'APPROVED' })
}

const { data, pagination } = await client.affiliates.list({ limit: 2 })
const second = await client.affiliates.list({ limit: 2 }).page(2)
console.log(data.length, second.data.length, pagination.total)

const newest = await client.affiliates.list().toArray({ limit: 3 })
console.log(newest.map(({ status }) => status).join(' '))

// Page by page.
let page = await client.affiliates.list({ limit: 1 })
while (page.hasNextPage) page = await page.nextPage()
console.log(page.pagination.page)
