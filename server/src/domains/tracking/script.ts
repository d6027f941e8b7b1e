/**
 * The script for a shop's pages. A visit is a tab's session, so a reload is not a new visit. Without a cookie, the
 * click's ID is stored immediately, because the visitor may leave before the response. An existing cookie stays until
 * the server knows the affiliate, so that an unknown `ref` takes nothing away. If a click could not be sent, the next
 * page sends it. A link's ID is removed from the address bar, so that visitors who follow a copied address count as
 * their own visitors. Without browser storage, the script does nothing.
 */
export const trackingScript = (days: number): string => `(() => {
const { src, dataset } = document.currentScript
const query = new URLSearchParams(location.search)
const page = location.origin + location.pathname
const clickId = () => /(?:^|; )referral_click=([\\w-]+)/.exec(document.cookie)?.[1]
const keep = (id, age = ${days * 86_400}) => { document.cookie = 'referral_click=' + id + '; Max-Age=' + age + '; Path=/; Secure; SameSite=Lax' }
const send = (kind, body) => fetch(src.replace(/\\.js(\\?.*)?$/, '/' + kind), { method: 'POST', body, keepalive: true, credentials: 'omit' }).then((reply) => reply.status > 428 ? null : reply.json()).catch(() => null)
const start = async () => {
  const store = sessionStorage
  const ref = (query.get(dataset.param || 'ref') || query.get('ref') || query.get('via'))?.slice(0, 255)
  const given = query.get('referral_click_id')
  const valid = /^[\\w-]+$/.test(given) && given
  const visit = valid || ref
  if (given !== null) {
    const url = new URL(location)
    url.searchParams.delete('referral_click_id')
    history.replaceState(history.state, '', url)
  }
  if (visit && store.referral_visit !== visit) {
    store.referral_visit = visit
    const id = valid || crypto.randomUUID()
    if (valid || !clickId()) keep(id)
    if (!valid) {
      const click = { ref, clickId: id, landingPage: page, referrerUrl: document.referrer }
      for (const name of ['Source', 'Medium', 'Campaign', 'Term', 'Content']) click['utm' + name] = query.get('utm_' + name.toLowerCase())?.slice(0, 255)
      store.referral_click = JSON.stringify(click)
    }
  }
  const click = store.referral_click
  if (click) {
    const reply = await send('click', click)
    if (reply) {
      store.removeItem('referral_click')
      if (reply.id) keep(reply.id)
      else if (click.includes(clickId())) keep('', 0)
    }
  }
  if ('views' in dataset) send('view', JSON.stringify({ url: page, clickId: clickId() }))
}
let started
const consent = () => { started ||= start().catch(() => {}) }
window.referral = { clickId, consent }
if (!('consent' in dataset)) consent()
})()
`
