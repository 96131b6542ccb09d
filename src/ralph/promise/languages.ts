/** Words of languages other than English. */

/** A short label that says that the work is done: "Fertig", "完成". A longer one must say that all of it is. */
export const endsElsewhere = (text: string, words: number): boolean =>
  words <= (all().test(text) ? maxStatementWords : maxLabelWords) && aboutTheEnd().test(text) && !putsOff().test(text);

/** Says when something will be printed: "Wenn alle Tests grün sind, gebe ich aus". */
export const announcesElsewhere = (text: string): boolean => saying().test(text) && condition().test(text);

const maxLabelWords = 3;
const maxStatementWords = 8;

// Functions, as patterns with classes of Unicode are slow to create, and most agents write English.

const all = () =>
  /全部|所有|すべて|全て|모든|(?<!\p{L})(?:alle|alles|toutes?|tous|tout|todas?|todos?|tutt[aeio]|все|всё|wszystk\p{L}*|alla)(?!\p{L})/iu;

const aboutTheEnd = () =>
  /完成|完了|完毕|結論|结论|(?<!\p{L})(?:готов[аоы]?|заверш[её]н[аоы]?|выполнен[аоы]?|итог|fertig|erledigt|abgeschlossen|ergebnis|terminée?s?|finie?s?|résultat|list[ao]s?|hech[ao]s?|terminad[ao]s?|completad[ao]s?|concluíd[ao]s?|feit[ao]s?|pront[aoie]|fatt[aoie]|completat[aoie]|klaar|gereed|gotowe|zakończone|hotovo|färdig|klar|valmis)(?!\p{L})/iu;

const putsOff = () =>
  /[后後时時会會将將若当當未没沒不再除]|(?<!\p{L})(?:wenn|sobald|falls|dann|danach|nicht|noch|außer|bis auf|fast|quand|lorsque|si|pas|puis|sauf|presque|cuando|no|luego|excepto|salvo|casi|quando|não|non|poi|quasi|tranne|если|когда|не|потом|кроме|почти)(?!\p{L})/iu;

const saying = () =>
  /输出|輸出|打印|出力|印刷|출력|(?<!\p{L})(?:gebe|geben|gibt|ausgeben|ausgebe|drucken?|schreiben?|imprim\p{L}*|affich\p{L}*|écri\p{L}*|escrib\p{L}*|stamp(?:o|erò|are)|выве[дс]\p{L}*|(?:на)?печата\p{L}*|напиш\p{L}*)(?!\p{L})/iu;

const condition = () =>
  /[后後时時]|如果|一旦|たら|れば|\p{L}면(?=[\s,])|(?<!\p{L})(?:wenn|sobald|falls|danach|quand|lorsque|dès que|une fois|si|cuando|una vez|luego|quando|se|poi|если|когда|потом|после)(?!\p{L})/iu;
