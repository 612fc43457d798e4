/**
 * What the stream of an answer fails with, once the reason has been observed: the listener, which
 * hears of it too, has nothing to add. The client sees a transfer that was cut.
 */
export class ResponseAborted extends Error {
  constructor(cause: unknown) {
    super("The answer broke off", { cause });
    this.name = "AnswerBrokeOff";
  }
}
