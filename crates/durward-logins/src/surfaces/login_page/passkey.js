// Asks an authenticator, and sends what it says with the form. Without this, or where the browser cannot, the form is not shown.
(() => {
  'use strict'
  const form = document.getElementById('passkey')
  if (form === null || typeof PublicKeyCredential === 'undefined' || !navigator.credentials) return
  const decoded = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (letter) => letter.charCodeAt(0))
  const encoded = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')
  const listed = (list) => (list || []).map((one) => ({ ...one, id: decoded(one.id) }))
  const publicKey = JSON.parse(form.dataset.options)
  publicKey.challenge = decoded(publicKey.challenge)
  const isNew = publicKey.user !== undefined
  if (isNew) {
    publicKey.user.id = decoded(publicKey.user.id)
    publicKey.excludeCredentials = listed(publicKey.excludeCredentials)
  } else {
    publicKey.allowCredentials = listed(publicKey.allowCredentials)
  }
  const said = (response) => {
    const clientDataJSON = encoded(response.clientDataJSON)
    if (isNew) {
      const transports = response.getTransports ? response.getTransports() : []
      return { clientDataJSON, attestationObject: encoded(response.attestationObject), transports }
    }
    const userHandle = response.userHandle ? encoded(response.userHandle) : null
    const authenticatorData = encoded(response.authenticatorData)
    return { clientDataJSON, authenticatorData, signature: encoded(response.signature), userHandle }
  }
  const button = form.querySelector('button')
  const failed = form.querySelector('[role="alert"]')
  button.addEventListener('click', async () => {
    button.disabled = true
    failed.hidden = true
    try {
      const { id, type, response } = await (isNew ? navigator.credentials.create({ publicKey }) : navigator.credentials.get({ publicKey }))
      form.elements.passkey.value = JSON.stringify({ id, rawId: id, type, response: said(response) })
      form.submit()
    } catch {
      failed.hidden = false
      button.disabled = false
    }
  })
  form.hidden = false
})()
