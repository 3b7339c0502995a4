import type { CommandContext } from "./command-context.ts";

const BOUND_MS = 15_000;

/** Comes when the process is asked to end. Asked for before anything is started, so that nobody is asked in vain. */
export function askedToStop(context: CommandContext): Promise<void> {
	return new Promise((resolve) => context.onStop(resolve));
}

/** Lets `close` finish, but not for ever: what is not closed by then is finished after a restart. */
export async function closeInTime(context: CommandContext, close: () => Promise<void>): Promise<void> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<"late">((resolve) => {
		timer = setTimeout(resolve, BOUND_MS, "late");
	});
	const end = await Promise.race([close(), late]);
	clearTimeout(timer);
	if (end !== "late") return;
	context.terminal.note(
		`flowfabric: not closed after ${BOUND_MS / 1000} s; ending all the same, nothing accepted is lost`,
	);
	context.end("failure");
}
