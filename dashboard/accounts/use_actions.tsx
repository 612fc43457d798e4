import { useEffect, useRef, useState } from "preact/hooks";
import { act } from "../service/call.ts";
import { toError } from "../service/use_report.ts";
import { Problem } from "../parts/problem.tsx";

/** The actions of a page, and the result of the last action. */
export interface Actions {
  readonly said: SaidProps["said"];
  /** Asks the question, and runs the action if the operator agrees. */
  ask(question: string, name: string, body: object, done: string): void;
  /** Runs the action without a question. */
  run(name: string, body: object, done: string): Promise<void>;
}

interface SaidProps {
  readonly said: { readonly text: string | Error | null; readonly question: Question | null };
}

interface Question {
  readonly text: string;
  answer(isYes: boolean): void;
}

/** Returns the actions of a page. `reload` reads the page again after each action. */
export function useActions(reload: () => void): Actions {
  const [text, setText] = useState<string | Error | null>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const run = async (name: string, body: object, done: string) => {
    try {
      await act(name, body);
      setText(done);
    } catch (error) {
      setText(toError(error));
    }
    reload();
  };
  return {
    said: { text, question },
    run,
    ask(text, name, body, done) {
      setQuestion({
        text,
        answer(isYes) {
          setQuestion(null);
          if (isYes) void run(name, body, done);
        },
      });
    },
  };
}

/** Shows the result of the last action, and the question before an action. */
export function Said({ said: { text, question } }: SaidProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (question !== null) dialog.current?.showModal();
  }, [question]);
  return (
    <>
      {text instanceof Error
        ? <Problem error={text} what="Cannot do this" />
        : text && <p role="status">{text}</p>}
      {question && (
        <dialog
          ref={dialog}
          aria-labelledby="question"
          onClose={() => question.answer(false)}
        >
          <h2 id="question">{question.text}</h2>
          <div class="actions">
            <button type="button" class="danger" onClick={() => question.answer(true)}>Yes</button>
            <button type="button" onClick={() => question.answer(false)}>Cancel</button>
          </div>
        </dialog>
      )}
    </>
  );
}
