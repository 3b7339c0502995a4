/** How errands of one type are run. */
export interface ErrandKind<E> {
	/** Does it; may be done again, and may wait for partitions that do not answer. */
	run(errand: E): Promise<void>;
	/** How many are under way at once, and how many more wait. */
	inFlight: number;
	backlog: number;
	/** Whether one that comes while another for the same subject is under way is run after it: things may have changed. */
	again?: true;
}

/** One entry for every type of errand there is. */
export type ErrandKinds<E extends { type: string }> = {
	readonly [T in E["type"]]: ErrandKind<Extract<E, { type: T }>>;
};

/** What became of an errand: dropped ones are brought again by the record that calls for them, which stays due. */
export type ErrandResult = "done" | "dropped";

interface Waiting<E> {
	subject: string;
	errand: E;
	settle(result: ErrandResult): void;
	fail(error: unknown): void;
}

/**
 * What ticks start in other partitions. A tick does not wait for it: a partition that hangs would stop the timers of every
 * other. Errands of one type share a bounded number of places, so that those of one never hold up those of another; what
 * finds no place is dropped, and so is what is under way for the same subject, unless its kind says otherwise.
 */
export class ErrandQueue<E extends { type: string }> {
	readonly #lines: ReadonlyMap<string, ErrandLine<E>>;

	constructor(kinds: ErrandKinds<E>) {
		const lines = Object.entries(kinds) as [string, ErrandKind<E>][];
		this.#lines = new Map(lines.map(([type, kind]) => [type, new ErrandLine(kind)]));
	}

	/** True when nothing is under way and nothing waits. */
	get idle(): boolean {
		return [...this.#lines.values()].every((line) => line.idle);
	}

	/** Resolves when it is done or dropped, and fails as it does; `subject` is the key of the record that calls for it. */
	add(subject: string, errand: E): Promise<ErrandResult> {
		return (this.#lines.get(errand.type) as ErrandLine<E>).add(subject, errand);
	}

	/** Begins nothing any more. What is under way ends with the partitions it is under way in. */
	close(): void {
		for (const line of this.#lines.values()) line.close();
	}
}

/** The errands of one type. */
class ErrandLine<E> {
	readonly #kind: ErrandKind<E>;
	/** Subjects of those under way, and of those that wait. */
	readonly #subjects = new Set<string>();
	readonly #waiting: Waiting<E>[] = [];
	/** What came for a subject that is under way or waits; of several the last. */
	readonly #again = new Map<string, Waiting<E>>();
	#underWay = 0;
	#closed = false;

	constructor(kind: ErrandKind<E>) {
		this.#kind = kind;
	}

	get idle(): boolean {
		return this.#subjects.size === 0;
	}

	add(subject: string, errand: E): Promise<ErrandResult> {
		const { inFlight, backlog } = this.#kind;
		if (this.#subjects.has(subject) && !this.#closed && this.#kind.again) return this.#runAfter(subject, errand);
		const isFull = this.#underWay >= inFlight && this.#waiting.length >= backlog;
		if (this.#closed || isFull || this.#subjects.has(subject)) return Promise.resolve("dropped");
		this.#subjects.add(subject);
		return new Promise((settle, fail) => {
			this.#waiting.push({ subject, errand, settle, fail });
			this.#begin();
		});
	}

	close(): void {
		this.#closed = true;
		for (const { subject, settle } of this.#waiting.splice(0)) {
			this.#subjects.delete(subject);
			settle("dropped");
		}
		for (const { settle } of this.#again.values()) settle("dropped");
		this.#again.clear();
	}

	#runAfter(subject: string, errand: E): Promise<ErrandResult> {
		this.#again.get(subject)?.settle("dropped");
		return new Promise((settle, fail) => this.#again.set(subject, { subject, errand, settle, fail }));
	}

	#begin(): void {
		while (this.#underWay < this.#kind.inFlight) {
			const next = this.#waiting.shift();
			if (!next) return;
			this.#underWay += 1;
			void this.#run(next);
		}
	}

	async #run({ subject, errand, settle, fail }: Waiting<E>): Promise<void> {
		try {
			await this.#kind.run(errand);
			settle("done");
		} catch (error) {
			fail(error);
		}
		this.#underWay -= 1;
		const again = this.#again.get(subject);
		this.#again.delete(subject);
		if (again) this.#waiting.push(again);
		else this.#subjects.delete(subject);
		this.#begin();
	}
}
