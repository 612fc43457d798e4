/** Has the event `refused` after each response that may ask for a login. */
export const session = new EventTarget();

/** As `fetch`, and reports a response to a request without a session. */
export async function send(request: Request | string, init?: RequestInit): Promise<Response> {
  const response = await fetch(request, init);
  if (response.status === 401) session.dispatchEvent(new Event("refused"));
  return response;
}
