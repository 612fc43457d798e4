// Keeps the page and the client, so that the page can be loaded without a network.
const files = ["/", "/__service/client.js"];
self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open("page").then((cache) => cache.addAll(files)));
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  if (!files.includes(new URL(event.request.url).pathname)) return;
  event.respondWith(
    fetch(event.request).catch(() => caches.match(event.request, { ignoreSearch: true })),
  );
});
