/**
 * The script of the pages of a shop. A visit is a session of the tab, so a reload is none. Without a cookie the click's id is
 * kept at once, because the visitor may leave before the response; one that is there stays until the server knows the
 * affiliate, so that an unknown `ref` takes nothing away. Without storage in the browser, it does nothing.
 */
export const trackingScript = (days: number): string => `(() => {
const { src, dataset } = document.currentScript
const query = new URLSearchParams(location.search)
const page = location.origin + location.pathname
const clickId = () => /(?:^|; )referral_click=([\\w-]+)/.exec(document.cookie)?.[1]
const keep = (id, age = ${days * 86_400}) => { document.cookie = 'referral_click=' + id + '; Max-Age=' + age + '; Path=/; Secure; SameSite=Lax' }
const send = (kind, body) => fetch(src.replace(/\\.js.*/, '/' + kind), { method: 'POST', body: JSON.stringify(body), keepalive: true, credentials: 'omit' }).then((reply) => reply.json()).catch(() => ({}))
const start = async () => {
  const ref = query.get(dataset.param) || query.get('ref') || query.get('via')
  const given = query.get('referral_click_id')
  const visit = given || ref
  if (visit && sessionStorage.referral_visit !== visit) {
    sessionStorage.referral_visit = visit
    const known = clickId()
    const id = given || crypto.randomUUID()
    if (given || !known) keep(id)
    if (!given) {
      const click = { ref, clickId: id, landingPage: page, referrerUrl: document.referrer }
      for (const name of ['Source', 'Medium', 'Campaign', 'Term', 'Content']) click['utm' + name] = query.get('utm_' + name.toLowerCase())?.slice(0, 255)
      const reply = await send('click', click)
      if (reply.id) keep(reply.id)
      else if (!known) keep('', 0)
    }
  }
  if ('views' in dataset) send('view', { url: page, clickId: clickId() })
}
let started
const consent = () => { started ||= start().catch(() => {}) }
window.referral = { clickId, consent }
if (!('consent' in dataset)) consent()
})()
`
