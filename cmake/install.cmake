include(CMakePackageConfigHelpers)
# One export for each library: find_package(ellice) asks for nothing that only a component needs.
foreach(name IN ITEMS ellice ellice_cbc ellice_study)
  install(TARGETS ${name} EXPORT ${name}Targets FILE_SET HEADERS)
  install(EXPORT ${name}Targets NAMESPACE ellice:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ellice)
endforeach()
configure_package_config_file(cmake/elliceConfig.cmake.in elliceConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ellice)
write_basic_package_version_file(elliceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/elliceConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/elliceConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ellice)
if(ELLICE_BUILD_APPS)
  # What scripts/package packs; the library is for those who build.
  install(TARGETS ellice_cli ellice_study_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
  set(pages ${CMAKE_CURRENT_BINARY_DIR}/apps/cli/pages)
  install(FILES ${pages}/ellice.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs)
  install(FILES ${pages}/ellice.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ellice
    COMPONENT programs)
  install(FILES ${pages}/_ellice DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT programs)
  install(FILES ${pages}/ellice.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT programs)
  install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT programs)
  if(ELLICE_RELOCATABLE)
    # DT_RPATH, not DT_RUNPATH: the bundled libraries look for each other there, too.
    set_target_properties(ellice_cli ellice_study_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/ellice")
    target_link_options(ellice_cli PRIVATE -Wl,--disable-new-dtags)
    target_link_options(ellice_study_cli PRIVATE -Wl,--disable-new-dtags)
  endif()
endif()
