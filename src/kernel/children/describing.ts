import type { ChildrenWait, FamilyRecord } from "../records/family.ts";
import type { PublicState } from "../state.ts";
import { isAwaited } from "./families.ts";
import { isMarked } from "./marks.ts";

/** What a parent waits for, in words. */

/** Children that are waited for and have not ended: how many, and the first of them. */
export interface OpenChildren {
	left: number;
	first: readonly { key: string; publicState: PublicState }[];
}

/** The numbers of the first `most` children that are waited for and have not ended. */
export function openNumbers({ endedMarks }: FamilyRecord, wait: ChildrenWait, most: number): number[] {
	const numbers: number[] = [];
	for (let number = 1; number <= wait.upTo && numbers.length < most; number++)
		if (isAwaited(wait, number) && !isMarked(endedMarks, number)) numbers.push(number);
	return numbers;
}

export function describeOpen({ left, first }: OpenChildren): string {
	const named = first.map(({ key, publicState }) => `${key} (${publicState})`).join(", ");
	const more = left - first.length;
	return `not done yet: ${named}${more > 0 ? ` and ${more} more` : ""}`;
}
