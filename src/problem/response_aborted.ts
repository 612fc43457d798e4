/**
 * The error of a response that was aborted: its body failed after its headers were sent. Its cause
 * has been observed already, so the listener, which receives it too, stays silent. The client sees
 * a cut transfer.
 */
export class ResponseAborted extends Error {
  constructor(cause: unknown) {
    super("The response was aborted", { cause });
    this.name = "ResponseAborted";
  }
}
