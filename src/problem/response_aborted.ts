/**
 * The error of a response whose body failed after the headers were sent. Closing the connection
 * shows the client that the response is incomplete. The service has already reported the cause, so
 * the listener does not report it.
 */
export class ResponseAborted extends Error {
  constructor(cause: unknown) {
    super("The response was aborted", { cause });
    this.name = "ResponseAborted";
  }
}
