import type { ChildView } from "../contract/replies.ts";
import type { Steps } from "./steps.ts";

/** What children came to, kept among the steps of their parent: what does not fit into one step is kept in several. */

/** Characters of JSON in one step, and of a child that does not go along with others. */
const MOST_CHARS = 512 * 1024;
const LARGE_CHARS = 256 * 1024;

/** A child as it is recorded. */
interface RecordedChild extends ChildView {
	/** Which of the steps beside it holds its result. */
	resultIn?: number;
}

interface RecordedChildren {
	children: RecordedChild[];
	/** The name of steps beside this one, and in which of them the rest of the children is. */
	beside?: string;
	rest?: number[];
}

/** Where something is recorded. */
interface Place {
	step: string;
	index: number;
	startedAt: number;
}

/**
 * What stands beside comes first, under a name of the lease alone: a run that broke off before it was done with that leaves
 * nothing that a later one could take for its own.
 */
export async function keepChildren(
	steps: Steps,
	{ step, index, startedAt }: Place,
	epoch: number,
	views: readonly ChildView[],
): Promise<void> {
	const beside = `${step}.${index}.${epoch}`;
	let kept = 0;
	const keep = async (value: unknown): Promise<number> => {
		await steps.keep(beside, kept, startedAt, value);
		return kept++;
	};
	const pieces: RecordedChild[][] = [[]];
	let chars = 0;
	for (const view of views) {
		let child: RecordedChild = view;
		let size = JSON.stringify(view).length;
		if (size > LARGE_CHARS) {
			const { result, resultBase64, ...rest } = view;
			const bytes = resultBase64 === undefined ? result : new Uint8Array(Buffer.from(resultBase64, "base64"));
			child = { ...rest, resultIn: await keep(bytes) };
			size = JSON.stringify(child).length;
		}
		if (chars > 0 && chars + size > MOST_CHARS) {
			pieces.push([]);
			chars = 0;
		}
		pieces.at(-1)?.push(child);
		chars += size;
	}
	const [first = [], ...others] = pieces;
	const rest: number[] = [];
	for (const piece of others) rest.push(await keep(piece));
	const recorded: RecordedChildren = { children: first, ...(kept > 0 ? { beside, rest } : undefined) };
	await steps.keep(step, index, startedAt, recorded);
}

/** What was recorded of them, if it was. */
export async function recordedChildren(steps: Steps, step: string, index: number): Promise<ChildView[] | undefined> {
	const found = await steps.find(step, index);
	if (!found) return undefined;
	const { children, beside = "", rest = [] } = found.value as RecordedChildren;
	const all = [...children];
	for (const n of rest)
		for (const child of ((await steps.find(beside, n))?.value ?? []) as RecordedChild[]) all.push(child);
	const views: ChildView[] = [];
	for (const { resultIn, ...view } of all) {
		const result = resultIn === undefined ? undefined : (await steps.find(beside, resultIn))?.value;
		if (result instanceof Uint8Array) views.push({ ...view, resultBase64: Buffer.from(result).toString("base64") });
		else views.push(resultIn === undefined ? view : { ...view, result });
	}
	return views;
}
