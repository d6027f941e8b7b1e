import { createCore, events } from '@referral/sdk'

const api = events(
  createCore({
    apiKey: process.env.REFERRAL_API_KEY,
    baseUrl: process.env.REFERRAL_BASE_URL,
  }),
)

const click = await api.click({ ref: 'noor-haddad', landingPage: 'https://shop.example/hats' })
console.log(click.message)
