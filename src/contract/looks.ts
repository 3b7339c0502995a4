/** What is not seen of a text, or is seen as nothing but room. */
const UNSEEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]+/gu;

/**
 * What a name looks like to a person: names that differ only in letter case, in the width of letters, in blanks or in what
 * is not seen have one look, and one of them could pass for the other.
 */
export const lookOf = (name: string): string => name.normalize("NFKC").replace(UNSEEN, "").toLowerCase();
