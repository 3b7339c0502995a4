import { type ForgottenHistory, parseForgotten, trimEntry } from "./event-log.ts";

/** One partition's logs and the histories in them that are over. */
export interface LogAccess {
	/** The text of these entries, null where there is none. */
	read(log: string, commits: readonly number[]): Promise<(string | null)[]>;
	/** False when somebody else has changed the entry meanwhile. */
	replace(log: string, commit: number, text: string, left: string): Promise<boolean>;
	/** Histories that are over, in the order of the first commit in which something of them is left. */
	page(from: number, count: number): Promise<string[]>;
	drop(members: readonly string[]): Promise<unknown>;
	/** The first commit in which something is left of this one has changed. */
	move(member: string, commit: number): Promise<unknown>;
}

const PAGE = 256;

/**
 * Lets go of what histories that are over told. Each step may be lost or repeated: an entry is replaced only if it is still
 * what was read, and a history is dropped once nothing of it was found.
 */
export class LogTrimmer {
	readonly #access: LogAccess;

	constructor(access: LogAccess) {
		this.#access = access;
	}

	/** Returns how many events from before this time went. */
	async trim(before: number): Promise<number> {
		let trimmed = 0;
		for (let passed = 0; ; ) {
			const members = await this.#access.page(passed, PAGE);
			const page = await this.#trimPage(members.map(parseForgotten), before);
			trimmed += page.trimmed;
			// What comes later is younger still.
			if (members.length < PAGE || !page.isOld) return trimmed;
			passed += page.kept;
		}
	}

	async #trimPage(histories: readonly ForgottenHistory[], before: number) {
		/** By history, the first commit in which something of it is left. */
		const left = new Map<ForgottenHistory, number>();
		let trimmed = 0;
		let isOld = false;
		for (const log of new Set(histories.map((history) => history.log))) {
			const byCommit = entriesOf(histories.filter((history) => history.log === log));
			const commits = [...byCommit.keys()].sort((a, b) => a - b);
			const texts = await this.#access.read(log, commits);
			const entries = commits.map(async (commit, n) => {
				const text = texts[n] ?? "";
				const told = byCommit.get(commit) ?? [];
				const trim = trimEntry(log, commit, text, told, before);
				isOld ||= trim.trimmed > 0;
				const isDone = trim.trimmed === 0 || (await this.#access.replace(log, commit, text, trim.left));
				if (isDone) trimmed += trim.trimmed;
				return { commit, waiting: isDone ? trim.waiting : told };
			});
			for (const { commit, waiting } of await Promise.all(entries))
				for (const history of waiting) if (!left.has(history)) left.set(history, commit);
		}
		const over = histories.filter((history) => !left.has(history)).map(({ member }) => member);
		if (over.length > 0) await this.#access.drop(over);
		let kept = 0;
		for (const [{ member, starts }, commit] of left) {
			if (commit === starts[0]?.commit) kept += 1;
			else await this.#access.move(member, commit);
		}
		return { trimmed, isOld, kept };
	}
}

/** Which histories each entry tells of. */
function entriesOf(histories: readonly ForgottenHistory[]): Map<number, ForgottenHistory[]> {
	const byCommit = new Map<number, ForgottenHistory[]>();
	for (const history of histories) {
		for (const { commit } of history.starts) {
			const there = byCommit.get(commit);
			if (there) there.push(history);
			else byCommit.set(commit, [history]);
		}
	}
	return byCommit;
}
