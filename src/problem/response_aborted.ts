/**
 * The error of a response whose body fails after the headers were sent. The closed connection shows
 * the client that the response is incomplete. The service has already reported the cause.
 */
export class ResponseAborted extends Error {
  constructor(cause: unknown) {
    super("The response was aborted", { cause });
    this.name = "ResponseAborted";
  }
}
