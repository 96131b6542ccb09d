/** Words of languages other than English. */

/** A short label that says that the work is done: "Fertig", "完成". A longer one must say that all of it is. */
export const endsElsewhere = (text: string, words: number): boolean =>
  words <= (all().test(text) ? maxStatementWords : maxLabelWords) && aboutTheEnd().test(text) && !putsOff().test(text);

/** Says when something will be printed: "Wenn alle Tests grün sind, gebe ich aus". */
export const announcesElsewhere = (text: string): boolean => saying().test(text) && condition().test(text);

/** Says that something fails, is open, or is not done yet: "Die Tests schlagen fehl", "测试还没有通过". */
export const saysNotDoneElsewhere = (text: string): boolean => open().test(text) && !nothingOpen().test(text);

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

const open = () =>
  /还没|還沒|尚未|未完成|未通过|未通過|没有(?:完成|通过)|不通过|失败|失敗|待完成|进行中|まだ|未完了|未実装|(?:終わっ|完了し|通っ|でき|成功し|実装し|実装され)ていません|아직|미완료|실패|(?<!\p{L})(?:schl(?:agen|ägt|ug|ugen) (?:\p{L}+ ){0,4}fehl|fehlgeschlagen|scheitern|scheitert|(?:noch|weiterhin) (?:immer )?(?:nicht|offen|rot)|(?:noch )?nicht (?:\p{L}+ )?(?:abgeschlossen|bestanden|erledigt|fertig|grün|umgesetzt)|(?:steht|stehen) (?:noch )?aus|fehl(?:t|en) noch|unvollständig|teilweise (?:erledigt|fertig)|échou(?:e|ent|é)|pas (?:encore|finie?s?|prête?s?|terminée?s?)|reste(?:nt)? à|fall(?:a|an|ó|aron|ando)|(?:aún|todavía) (?:faltan?|no)|no (?:funcionan?|pasan?|están? (?:complet|implement|list|termin)\p{L}*)|falha(?:m|ram|ndo)?|ainda (?:não|falha|falta)|não (?:passam?|(?:está|estão) (?:complet|conclu|pront|termin)\p{L}*)|fallisc(?:e|ono)|non (?:ancora|passano?|(?:è|sono) (?:complet|finit|pront|termin)\p{L}*)|ancora (?:non|da)|pendientes?|pendentes?|не (?:готов|заверш|выполн|проход|работа|реализ)\p{L}*|(?:ещ[её]) не|пада(?:ет|ют)|провал\p{L}*)(?!\p{L})/iu;

const nothingOpen = () =>
  /不再|(?:没有|没|无|無|零|0) ?(?:.{0,4}失[败敗]|未)|失敗.{0,10}(?:ありません|ない|な[しく])|실패.{0,10}없|(?<!\p{L})(?:kein\p{L}{0,2}|nicht mehr|nichts|aucune?|plus|rien|ningun[oa]?|ningún|ya no|nada|nenhuma?|nessun[oa]?|больше не|ничего|ни (?:один|одна|одного))(?!\p{L})/iu;
