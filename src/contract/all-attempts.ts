import type { ExecutionCalls } from "./backend.ts";
import type { AttemptView } from "./replies.ts";

/** Every attempt, a page after another. */
export async function allAttempts(calls: Pick<ExecutionCalls, "attemptPage">, id: string): Promise<AttemptView[]> {
	const all: AttemptView[] = [];
	let cursor: string | undefined;
	do {
		const { attempts, nextCursor } = await calls.attemptPage(id, cursor === undefined ? {} : { cursor });
		for (const attempt of attempts) all.push(attempt);
		cursor = nextCursor;
	} while (cursor !== undefined);
	return all;
}
