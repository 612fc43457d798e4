/**
 * The error of a response that was aborted: its body failed after its headers were sent. The cause
 * has been observed already, so the listener does not report this error again. The client sees a
 * cut transfer.
 */
export class ResponseAborted extends Error {
  constructor(cause: unknown) {
    super("The response was aborted", { cause });
    this.name = "ResponseAborted";
  }
}
