import type { Terminal } from "./terminal.ts";

/** Says that a list goes on. A cursor is for scripts: nobody types one. */
export function tellMore(terminal: Terminal, nextCursor: string): void {
	const cursor = terminal.moves ? "" : `--cursor ${nextCursor}, or `;
	terminal.note(`There may be more: ${cursor}--all`);
}

/** Everything a list holds, page after page. */
export async function allPages<R>(
	read: (cursor: { cursor?: string }) => Promise<{ rows: R[]; nextCursor: string | undefined }>,
): Promise<R[]> {
	const all: R[] = [];
	let cursor: { cursor?: string } | undefined = {};
	while (cursor) {
		const { rows, nextCursor }: { rows: R[]; nextCursor: string | undefined } = await read(cursor);
		for (const row of rows) all.push(row);
		cursor = nextCursor === undefined ? undefined : { cursor: nextCursor };
	}
	return all;
}

/** As many as a server gives at once. */
export const WHOLE_PAGE = 1000;
