//! The built-in phrases and markers.
//!
//! Written by hand from typical attacks in five languages, not copied from a list. In phrases the order is
//! verb, qualifier, object; in Romance languages the last two are swapped.

use super::InjectionSign::{self, Marker, Override, Persona, PromptExtraction};

/// The phrases, in the grammar of [`Phrases::add`](super::phrase::Phrases::add).
pub(super) const PHRASES: &[(InjectionSign, &[&str])] =
    &[(Override, OVERRIDE), (Persona, PERSONA), (PromptExtraction, EXTRACTION)];

const OVERRIDE: &[&str] = &[
    // English
    "ignore|disregard|forget|neglect|dismiss|discard|ignoring|disregarding|forgetting ~ previous|prior|above|earlier|preceding|foregoing|initial|original|system ~ instruction|instructions|prompt|prompts|rules|guidelines|directions|directive|directives|commands|constraints|programming|context",
    "ignore|disregard|forget|violate|break|bypass|override|circumvent|disobey|ignoring|bypassing ~ your ~ instruction|instructions|prompt|rules|guidelines|directives|restrictions|constraints|limitations|programming|training|filters|safeguards|guardrails",
    "do_not|don_t|dont|stop|never|no_longer ~ follow|following|obey|obeying ~ previous|prior|above|your|earlier|original ~ instruction|instructions|rules|guidelines|prompt|directives",
    "ignore|disregard|forget|discard ~ everything|all|anything ~ above|before_this|you_were|you_have_been|you_ve_been|you_know|you_learned|you_are_told|said_before|prior|previously",
    "ignore|disregard|forget ~ instructions|rules|prompt ~ above|given_to_you|you_were|you_have_been|before",
    "your ~ new|real|actual|true|only ~ instructions|instruction|directive|directives|orders|task|objective ~ is|are|follow",
    "new|updated|override system instructions|instruction|prompt|directive",
    "previous|prior|earlier|above instructions|rules|guidelines|prompt ~ no_longer|void|cancelled|canceled|obsolete|revoked|do_not_apply|don_t_apply|are_wrong",
    // German
    "ignorier|ignoriere|ignorieren|ignorierst|vergiss|vergesse|vergessen|vergesst|missachte|missachten|verwirf|übergehe|uebergehe|umgehe|umgehen ~ vorherige|vorherigen|bisherige|bisherigen|vorigen|obige|obigen|frühere|früheren|frueheren|vorangegangenen|vorangehenden|ursprünglichen|urspruenglichen|vorstehenden|deine|deiner|deinen ~ anweisung|anweisungen|instruktion|instruktionen|regel|regeln|vorgaben|befehle|befehlen|richtlinien|prompt|prompts|einschränkungen|einschraenkungen|beschränkungen|beschraenkungen|systemprompt|systemanweisungen",
    "ignoriere|ignorieren|vergiss|vergesse|vergessen ~ alles|allem ~~ bisher|oben|vorher|zuvor|davor|vorherige|bisherige|gelernt|gesagt_wurde|darüber|darueber",
    "folge|befolge|beachte ~ nicht ~ vorherigen|bisherigen|obigen|deinen|deine ~ anweisungen|regeln|vorgaben|instruktionen",
    "befolge|beachte ~ obigen|vorherigen|bisherigen|deine ~ anweisungen|regeln|vorgaben|instruktionen ~ nicht",
    "deine ~ neue|neuen|eigentliche|eigentlichen|wahre|wahren ~ anweisung|anweisungen|aufgabe|instruktionen ~ lautet|lauten|ist|sind",
    // Spanish
    "ignora|ignorar|ignore|ignores|olvida|olvidar|olvide|olvídate|descarta|desobedece|omite|incumple ~~ instrucciones|instrucción|indicaciones|reglas|normas|directrices|restricciones|limitaciones|prompt ~ anteriores|previas|anterior|arriba|originales|iniciales|recibidas|del_sistema|que_te|que_recibiste",
    "ignora|ignorar|ignore|olvida|olvidar|olvide|desobedece|omite|sáltate|incumple ~ tus|sus ~ instrucciones|reglas|directrices|restricciones|limitaciones|normas|indicaciones|filtros",
    "ignora|ignorar|ignore|olvida|olvidar ~ anteriores|previas ~ instrucciones|indicaciones|reglas|directrices",
    "olvida|ignora|olvídate|olvide ~ todo ~~ anterior|arriba|antes|aprendido|dijeron|dicho|programado",
    "tus ~ nuevas|verdaderas ~ instrucciones|órdenes|reglas ~ son|es",
    // French
    "ignore|ignorer|ignorez|oublie|oublier|oubliez|néglige|négligez|outrepasse|contourne|contournez ~~ instructions|instruction|consignes|consigne|règles|directives|prompt|indications ~ précédentes|précédente|précédents|ci_dessus|antérieures|initiales|originales|reçues|d_avant|du_système|système|plus_haut",
    "ignore|ignorer|ignorez|oublie|oublier|oubliez|outrepasse|contourne|enfreins ~ tes|vos ~ instructions|consignes|règles|directives|restrictions|limites|filtres",
    "ignore|ignorer|ignorez|oublie|oubliez ~ précédentes|précédents|antérieures ~ instructions|consignes|règles|directives",
    "oublie|ignore|oubliez|ignorez tout ~ ce_qui|ce_que ~~ précède|dessus|avant|appris|plus_haut|on_t_a",
    "ne ~ suis|suivez|respecte|respectez plus|pas ~ tes|vos|les ~ instructions|consignes|règles|directives ~ précédentes|ci_dessus|initiales",
    "tes|vos ~ nouvelles|vraies ~ instructions|consignes ~ sont",
    // Chinese
    "忽略|无视|無視|忘记|忘記|忘掉|不要理会|不理会|抛弃|忽视|忽視|不要遵守|不要遵循|丢弃|清除 ~~ 之前|以上|先前|前面|此前|上述|上面|原有|原来|你的|您的|你所有|初始 ~~ 指令|指示|提示|规则|規則|命令|说明|說明|设定|設定|限制|约束|对话",
    "忽略|无视|無視|忘记|忘記|忘掉 ~ 一切|所有|全部 ~~ 之前|以上|前面|上面|先前|设定|設定|指令|规则",
    "你的新|你新的|你真正的 ~ 指令|任务|任務|指示 ~ 是|如下",
];

const PERSONA: &[&str] = &[
    // English
    "from_now_on|starting_now|henceforth ~ you_are|you_re|you_act|you_will_act|you_will_be|you_must|you_have_no|you_are_going_to_act|act_as|pretend",
    "act|pretend|behave|roleplay|you_are|you_re|ai|model|assistant ~~ without|no|zero ~ restrictions|restriction|limitations|filters|filter|censorship|guardrails|guidelines|ethical|moral|rules",
    "respond|answer|reply|imagine ~~ without|zero ~ restrictions|restriction|limitations|filters|filter|censorship|guardrails|guidelines|ethical|moral|rules",
    "do_anything_now",
    "you_are_now|you_re_now|act_as|become|pretend_to_be ~ dan|jailbroken|unrestricted|uncensored|unfiltered|jailbreak",
    "you_are_now_in|you_are_in|you_re_in|switch_to|enter|enable ~ developer|debug|maintenance|admin|god|jailbreak|sudo|unrestricted|dan mode ~~ you|ignore|restrictions|respond|answer|reveal|rules",
    "you ~ not_bound|no_longer_bound|free_from|freed_from|free_of|no_longer_have|not_subject ~~ restrictions|rules|limitations|guidelines|filters|openai|ethics|policies",
    "never ~ refuse|decline ~ answer|comply|request|requests|question|questions|anything",
    // German
    "ab_jetzt|ab_sofort|von_nun_an|von_jetzt_an ~ bist_du|hast_du_keine|handelst_du|verhältst_du|spielst_du|antwortest_du_ohne",
    "tu_so|stell_dir_vor|verhalte_dich|verhalt_dich|antworte|agiere|spiele|du_bist ~~ ohne|keine|keinerlei|keinen ~ einschränkungen|einschraenkungen|beschränkungen|beschraenkungen|filter|zensur|richtlinien|moralischen|ethischen",
    "tu_so|verhalte_dich|verhalt_dich|agiere ~~ ohne|keine|keinerlei|keinen ~ regeln|grenzen",
    "du_bist_jetzt|du_bist_nun|du_bist_ab_jetzt ~ dan|unzensiert|uneingeschränkt|uneingeschraenkt|im_entwicklermodus|frei_von",
    // Spanish
    "a_partir_de_ahora|desde_ahora|de_ahora_en_adelante ~ eres|actúas|actúa|actuarás|serás|vas_a_actuar",
    "actúa|finge|compórtate|eres ~~ sin ~ restricciones|restricción|límites|limitaciones|filtros|censura|reglas",
    "responde|contesta|imagina ~~ sin ~ restricciones|restricción|limitaciones|filtros|censura",
    "ahora_eres ~ dan|libre|ilimitado|sin",
    // French
    "à_partir_de_maintenant|désormais|dorénavant ~ tu_es|tu_agis|tu_n_as|tu_vas_agir|tu_joues|tu_seras",
    "agis|fais_comme_si|comporte_toi|tu_es ~~ sans|aucune|aucun ~ restriction|restrictions|limite|limites|filtre|filtres|censure|règles",
    "réponds|répondez|imagine ~~ sans|aucune|aucun ~ restriction|restrictions|filtre|filtres|censure",
    "tu_es_maintenant|tu_es_désormais ~ dan|libre|débridé|sans|en_mode",
    // Chinese
    "从现在开始|从现在起|從現在開始|從現在起|从此刻起|现在开始 ~ 你是|你将|你將|你就是|你要扮演|你没有|你沒有|你不再|你必须|请扮演|扮演",
    "扮演|假装|假裝|假设|假設|想象|回答|你是|作为|模式 ~~~ 没有|沒有|不受|无|無|不再受|毫无 ~~ 限制|约束|約束|审查|審查|过滤|過濾|道德|规则",
    "越狱模式|开发者模式|開發者模式|上帝模式 ~~ 你|回答|限制|忽略",
];

const EXTRACTION: &[&str] = &[
    // English
    "reveal|show|print|output|display|repeat|tell|give|share|disclose|leak|expose|write|dump|list|recite|return|send|say|provide|translate|summarize|summarise|encode|see|know ~~ your ~ system|initial|original|hidden|secret|internal|developer|confidential|exact|full|entire|above ~ prompt|prompts|instruction|instructions|message|rules|guidelines|directives|configuration",
    "reveal|show|print|output|display|repeat|disclose|leak|expose|dump|recite|tell|give ~ your|the|this ~ system_prompt|system_prompts|hidden_prompt|hidden_instructions|secret_instructions|initial_prompt|developer_message|prompt_verbatim|preprompt",
    "reveal|show|print|output|display|repeat|disclose|leak|dump|recite|tell ~ your instructions|prompt|directives",
    "what|which|whats ~ is|are|was|were|s ~ your ~ system|initial|original|hidden|secret|internal ~ prompt|prompts|instruction|instructions|message|rules|guidelines",
    "what|which ~ instructions|rules|prompt|guidelines ~ were|have|did|are ~ you ~ given|told|receive|received|following|programmed|start",
    "repeat|output|echo|recite|print ~~ words|text|everything|all|content|instructions|lines|sentences ~ above|before_this|preceding|prior_to",
    "repeat|output|print|echo|recite ~~~ starting|beginning ~ with ~ you_are",
    "contents_of|content_of|copy_of ~ your|the ~ system_prompt|system_message|initial_prompt|context_window",
    // German
    "zeig|zeige|zeigt|nenn|nenne|verrate|verrat|verraten|gib|wiederhole|wiederhol|drucke|schreib|schreibe|offenbare|sag|sage|liste|übersetze|teile|kopiere|ausgeben|zitiere ~~ dein|deine|deinen|deiner|den|die|das ~ systemprompt|system_prompt|systemnachricht|systemanweisung|systemanweisungen|system_anweisungen|systeminstruktionen|versteckten_anweisungen|geheimen_anweisungen|internen_anweisungen|ursprünglichen_anweisungen|urspruenglichen_anweisungen|anfangsprompt|initialprompt|initiale_anweisungen|prompt",
    "zeig|zeige|nenne|verrate|wiederhole|offenbare|sag ~ deine ~ anweisungen|instruktionen|internen_regeln|internen_richtlinien",
    "wie|was|welche ~ lautet|lauten|ist|sind|steht ~ dein|deine|deinem|deinen ~ systemprompt|system_prompt|systemanweisung|systemanweisungen|anweisungen|instruktionen|systemnachricht|prompt",
    "welche|was_für ~ anweisungen|instruktionen ~ hast_du|wurden_dir|hat_man_dir",
    "welche|was_für ~ regeln ~ wurden_dir|hat_man_dir",
    "wiederhole|wiederhol|gib|drucke ~ alles|text|wörter|worte|wortwörtlich ~ oben|davor|darüber|darueber|bisherige|obigen",
    // Spanish
    "muestra|muéstrame|muestre|revela|revélame|dime|di|imprime|repite|enséñame|comparte|escribe|dame|traduce|lista|cuéntame ~~ tu|tus|el|las|sus|su ~ prompt_del_sistema|prompt_de_sistema|system_prompt|instrucciones_del_sistema|instrucciones_de_sistema|mensaje_del_sistema|mensaje_de_sistema|instrucciones_iniciales|instrucciones_ocultas|instrucciones_internas|instrucciones_secretas|prompt_inicial|instrucciones_originales|prompt_original|prompt_oculto|reglas_internas",
    "dime|muestra|muéstrame|revela|repite|enséñame tus|tu ~ instrucciones|prompt|reglas_internas",
    "cuál|cuáles|qué ~ es|son|eran|fueron ~ tu|tus ~ prompt|instrucciones|reglas_internas|mensaje_del_sistema",
    "qué|cuáles ~ instrucciones|reglas ~ te_dieron|te_han_dado|recibiste",
    "repite|imprime|copia ~ todo|texto|palabras ~ anterior|arriba|previo|antes",
    // French
    "montre|montrez|montre_moi|affiche|affichez|révèle|révélez|donne|donnez|dis|dites|répète|répétez|imprime|écris|partage|divulgue|traduis|liste|recopie|cite ~~ ton|tes|votre|vos|le|les|l ~ prompt_système|system_prompt|prompt_de_système|invite_système|message_système|instructions_système|instructions_initiales|instructions_cachées|instructions_secrètes|instructions_internes|consignes_initiales|consignes_internes|consignes_cachées|consignes_secrètes|prompt_initial|prompt_original|prompt_caché",
    "montre|affiche|révèle|donne|dis|répète ~ ton|tes prompt|instructions|consignes|règles_internes",
    "montre|montrez|affiche|affichez|révèle|révélez|donne|donnez|répétez ~ votre|vos prompt",
    "quel|quelle|quels|quelles ~ est|sont|étaient ~ ton|tes ~ prompt|instructions|consignes|règles_internes",
    "quel|quelle|quels|quelles ~ est|sont|étaient ~ votre|vos ~ prompt|instructions_initiales|instructions_système|consignes_initiales",
    "quelles|quels ~ instructions|consignes ~ as_tu|t_a_t_on|t_ont",
    "quelles|quels ~ règles ~ t_a_t_on|t_ont",
    "répète|répétez|recopie|affiche ~ tout|texte|mots ~ dessus|précède|haut|précédent",
    // Chinese
    "输出|輸出|显示|顯示|告诉|告訴|透露|打印|重复|重複|展示|泄露|复述|說出|说出|给我|給我|公开|列出|翻译|写出|背诵 ~~ 系统提示|系统指令|系统消息|初始指令|初始提示|隐藏指令|隐藏的指令|内部指令|原始指令|原始提示|系統提示|系統指令|你的提示词|你的指令|你的提示|你的规则|你的设定|开发者指令",
    "你的 ~ 系统提示词|系统提示|提示词|初始指令|系统指令|系統提示|指令 ~~ 是什么|是什麼|有哪些|是啥|内容|原文",
    "重复|重複|复述|输出|逐字 ~~ 以上|上面|上述|前面 ~ 内容|內容|文字|所有|全部|指令|文本|的话",
    "你 ~ 收到|得到|被赋予|被给 ~ 什么|哪些|的 ~ 指令|提示|规则|设定",
];

/// Markers of roles in prompts of models. They are searched in folded texts.
const MARKERS: [&str; 20] = [
    "<|im_start|>",
    "<|im_end|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|endoftext|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|begin_of_text|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "<</sys>>",
    "<system>",
    "</system>",
    "<system_prompt>",
    "</system_prompt>",
];

/// Starts of lines that pretend to be written by another role.
const LINES: [&str; 13] = [
    "### system:",
    "### instruction:",
    "### response:",
    "[system] you",
    "[system] ignore",
    "[system]:",
    "[system message]",
    "system: you",
    "system: ignore",
    "system: new",
    "system: override",
    "assistant: sure",
    "system override:",
];

/// Returns [`Marker`] if a folded text contains markers of roles.
pub(super) fn marker(folded: &str) -> Option<InjectionSign> {
    let has_marker = MARKERS.iter().any(|marker| folded.contains(marker));
    let starts = |line: &str| LINES.iter().any(|start| line.trim_start().starts_with(start));
    (has_marker || folded.lines().any(starts)).then_some(Marker)
}
